// AgentV's own import of one Claude session, as its command `agentv import claude` does it: read, parse, rows, write.
// Used without the command line around it, whose start-up (more than a second) is not what is compared here.
//   node agentv_import.mjs PEERS_FOLDER SESSION.jsonl OUT.jsonl
// PEERS_FOLDER holds node_modules with @agentv/core 4.42.
import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [peers, session, out] = process.argv.slice(2);
const core = await import(pathToFileURL(join(resolve(peers), "node_modules/@agentv/core/dist/index.js")).href);
const transcript = core.parseClaudeSession(await core.readTranscriptFile(session));
const rows = core.toTranscriptJsonLines(transcript);
await writeFile(out, `${rows.map((row) => JSON.stringify(row)).join("\n")}\n`, "utf8");
const calls = transcript.messages.reduce((sum, message) => sum + (message.toolCalls?.length ?? 0), 0);
console.log(JSON.stringify({ messages: transcript.messages.length, total: calls, tokens: transcript.tokenUsage }));
