"""The style sheet and the one script of a page; both are allowed in its policy by their hashes."""

import base64
import hashlib

STYLE = """
:root{color-scheme:light dark;--bg:#fff;--fg:#1d2630;--dim:#5a6672;--line:#d8dee5;--box:#f5f7f9;--user:#eaf2fb;
--link:#1f5fa8;--ok:#2c7a4b;--bad:#b3261e;--badbg:#fdeceb;--warn:#8a5a00;--ins:#e3f5e6;--del:#fce6e4;--think:#f7f4fb}
@media(prefers-color-scheme:dark){:root{--bg:#12171d;--fg:#dde4eb;--dim:#97a4b1;--line:#2d3844;--box:#1a2129;
--user:#17283b;--link:#7db4f0;--ok:#6cc48c;--bad:#ff8a80;--badbg:#351b1a;--warn:#e0b050;--ins:#173322;--del:#3a1e1d;
--think:#1e1b29}}
*{box-sizing:border-box}
body{font:16px/1.55 system-ui,sans-serif;background:var(--bg);color:var(--fg);margin:0 auto;max-width:62rem;
padding:1rem clamp(.7rem,3vw,2rem) 4rem;overflow-wrap:anywhere}
a{color:var(--link)}h1{font-size:1.5rem;line-height:1.25;margin:.3rem 0 1rem}h2{font-size:1.1rem;margin:1.6rem 0 .5rem}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1rem;margin:0}dt{color:var(--dim)}dd{margin:0}
code,pre{font:13.5px/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
pre{background:var(--box);border:1px solid var(--line);border-radius:6px;padding:.55rem .7rem;margin:.4rem 0;
overflow-x:auto;white-space:pre-wrap;tab-size:4;max-height:32rem;overflow-y:auto}
:not(pre)>code{background:var(--box);border-radius:4px;padding:.08em .3em}
article{border-top:1px solid var(--line);padding:.7rem 0;content-visibility:auto;contain-intrinsic-size:auto 12rem}
article>header{color:var(--dim);font-size:.85rem;display:flex;flex-wrap:wrap;gap:.1rem .8rem;align-items:baseline}
article>header a{color:inherit;font-weight:600}
article.user{background:var(--user);border:0;border-radius:8px;padding:.7rem .9rem;margin:1rem 0}
article.injected{opacity:.85}article.retracted{text-decoration:line-through;opacity:.6}
.text>:first-child{margin-top:.3rem}.text>:last-child{margin-bottom:.2rem}.text img{max-width:100%}
table{border-collapse:collapse;display:block;overflow-x:auto}th,td{border:1px solid var(--line);padding:.2rem .5rem}
details{margin:.35rem 0}summary{cursor:pointer}
.call>summary{font-size:.92rem;color:var(--dim)}.call>summary b{color:var(--fg)}.call>summary code{color:var(--fg);
word-break:break-all}
.out{display:inline-block;min-width:4.2em;color:var(--ok)}
.error>summary .out,.denied>summary .out,.cancelled>summary .out{color:var(--bad);font-weight:600}
.unpaired>summary .out{color:var(--warn)}
.call.error,.call.denied{border-left:3px solid var(--bad);padding-left:.6rem;background:var(--badbg)}
.think>summary{color:var(--dim);font-style:italic}
.think>div{background:var(--think);border-radius:6px;padding:.3rem .8rem}
.agent{border-left:3px solid var(--line);padding-left:.9rem}.agent>summary{font-weight:600}
.note{color:var(--warn);border-top:1px dashed var(--warn);text-align:center;font-size:.9rem;padding:.3rem}
.fail{color:var(--bad)}.pass{color:var(--ok)}.keys{color:var(--dim);font-size:.85rem}
kbd{font:inherit;border:1px solid var(--line);border-radius:4px;padding:0 .35em;background:var(--box)}
nav ol{margin:.2rem 0;padding-left:2rem}nav li{margin:.1rem 0}
svg{width:100%;height:2.9rem;display:block;margin-top:1rem}
.axis{display:flex;justify-content:space-between;gap:1rem;color:var(--dim);font-size:.8rem;margin:.1rem 0 1rem}
svg .t{fill:var(--link)}svg .u{fill:var(--dim)}svg .c{fill:var(--ok)}
svg .x{fill:var(--bad)}svg .a{fill:var(--line)}
.ins,.del{display:inline-block;min-width:100%}.ins{background:var(--ins)}.del{background:var(--del)}
.at{color:var(--dim)}
.b{font-weight:700}.dim{opacity:.7}.i{font-style:italic}.u{text-decoration:underline}
.s{text-decoration:line-through}.inv{filter:invert(1)}
.red{color:#c4302b}.green{color:#2c7a4b}.yellow{color:#8a6100}.blue{color:#2a62b8}
.magenta{color:#96369b}.cyan{color:#14727c}.white,.black{color:inherit}
.on-red{background:#f3c6c3}.on-green{background:#c5e7cf}.on-yellow{background:#f1e2ae}.on-blue{background:#c9dcf7}
.on-magenta{background:#ecc9ee}.on-cyan{background:#bfe5e9}.on-white{background:var(--line)}
.on-black{background:var(--box)}
@media(prefers-color-scheme:dark){.red{color:#ff8a80}.green{color:#6cc48c}.yellow{color:#e0b050}.blue{color:#7db4f0}
.magenta{color:#d99ade}.cyan{color:#6fcbd6}.on-red{background:#5b2523}.on-green{background:#1e4a2e}
.on-yellow{background:#4d3c10}.on-blue{background:#1d3a63}.on-magenta{background:#4a2350}.on-cyan{background:#164a51}}
:target{outline:2px solid var(--link);outline-offset:4px;border-radius:6px}:focus-visible{outline:2px solid var(--link)}
@media(max-width:30rem){dl{gap:.1rem .6rem}body{font-size:15px}.out{min-width:0}nav ol{padding-left:1.6rem}}
@media print{pre{max-height:none}article{content-visibility:visible;break-inside:avoid-page}
details::details-content{content-visibility:visible;display:block}nav,.keys{display:none}body{max-width:none}}
"""

SCRIPT = """
(()=>{const at={};const go=(name,list,step)=>{if(!list.length)return;
at[name]=Math.min(Math.max((at[name]??(step>0?-1:list.length))+step,0),list.length-1);const one=list[at[name]];
for(let p=one;p;p=p.parentElement)if(p.tagName==='DETAILS')p.open=true;
one.scrollIntoView({block:'center'});one.setAttribute('tabindex','-1');one.focus({preventScroll:true})};
const all=s=>[...document.querySelectorAll(s)];
addEventListener('keydown',e=>{if(e.ctrlKey||e.metaKey||e.altKey)return;
if(e.key==='n')go('f',all('.call.error,.call.denied,.call.cancelled'),1);
if(e.key==='p')go('f',all('.call.error,.call.denied,.call.cancelled'),-1);
if(e.key==='o'){const every=all('details'),shut=every.some(d=>!d.open);every.forEach(d=>d.open=shut)}
if(e.key==='j')go('t',all('article[id]'),1);if(e.key==='k')go('t',all('article[id]'),-1)});
const open=()=>{let p=location.hash.length>1&&document.getElementById(location.hash.slice(1));
for(;p;p=p.parentElement)if(p.tagName==='DETAILS')p.open=true};addEventListener('hashchange',open);open();
addEventListener('beforeprint',()=>all('details').forEach(d=>d.open=true))})()
"""


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def policy(style: str, script: str) -> str:
    """The content policy of a page with this style sheet and this script alone."""
    return (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


POLICY = policy(STYLE, SCRIPT)
"""Nothing is loaded, and no text of the page can run: only this style sheet and this script are allowed."""
