"""Shell texts of Windows: PowerShell, `cmd`, and paths with backslashes."""

import pytest

from agentv_stages.model.event import Kind
from agentv_stages.shell import classify_shell, run_commands

POWERSHELL = r'"C:\\Windows\\System32\\WindowsPowerShell\\v1.0\\powershell.exe"'  # as `codex exec --json` prints it


@pytest.mark.parametrize(
    ("command", "kind", "files"),
    [
        # the shell stands in a folder of Windows
        (f"{POWERSHELL} -Command 'Get-Content src/a.py'", "read", ("src/a.py",)),
        (f"{POWERSHELL} -NoProfile -Command \"Get-Content -LiteralPath 'a.md','b/c.md'\"", "read", ("a.md", "b/c.md")),
        (f"{POWERSHELL} -Command \"rg -n 'x' src\"", "search", ()),
        (f"{POWERSHELL} -Command 'mkdir new'", "write", ("new",)),
        (f"{POWERSHELL} -Command 'python a.py'", "execute", ()),
        ('powershell "Get-Content a; rg x"', "read", ("a",)),
        ("powershell a.ps1", "execute", ()),
        (r"C:\tools\rg.exe -n x src", "search", ()),
        # backslashes of paths are no escapes
        (r"Get-Content C:\repo\a.py", "read", (r"C:\repo\a.py",)),
        (r"Get-Content -Path .\src\a.py | Select-Object -First 20", "read", (r".\src\a.py",)),
        (r"type ..\..\src\a.py", "read", (r"..\..\src\a.py",)),
        (r"cat src\a.py && cat src\b.py", "read", (r"src\a.py", r"src\b.py")),
        (r"cmd /c type C:\repo\a.py", "read", (r"C:\repo\a.py",)),
        # a shell of Windows prints files by `type`, others say what a word means
        ("cmd /c type f", "read", ("f",)),
        ('cmd.exe /c "type f g" | findstr x', "read", ("f", "g")),
        ("sudo cmd /c type f; dir", "read", ("f",)),
        ("cmd /c type f > g", "write", ("g",)),
        ("powershell -c type f", "read", ("f",)),
        ("type f", "execute", ()),
        ("cmd /c \"bash -c 'type f'\"", "execute", ()),
        (r"python a.py > C:\logs\out.txt", "write", (r"C:\logs\out.txt",)),
        (r"(cat .\a.py; python b.py) > .\out.txt", "write", (r".\out.txt",)),
        ('Get-Content "C:\\my repo\\"; Get-Content b', "read", ("C:\\my repo\\", "b")),
        # lists of files
        ("Get-Content -LiteralPath a.md, b.md, c.md -Raw", "read", ("a.md", "b.md", "c.md")),
        ("Get-Content a.md, b.md", "read", ("a.md", "b.md")),
        # the escape character, variables, blocks
        ('Get-Content a; Write-Output "`n---"; rg --files; Write-Output "`n---"; cat b', "read", ("a", "b")),
        ("$ErrorActionPreference = 'Stop'; Get-Content a", "read", ("a",)),
        ("$lines = Get-Content a; $lines[0..20]", "read", ("a",)),
        ('$i=1; Get-Content a | ForEach-Object { "{0}" -f $_; $i++ } | Select-Object -First 9', "read", ("a",)),
        ("$found = rg x; $found | Measure-Object", "search", ()),
        ("$env:A = 'x'; Write-Host $env:A; pytest -q", "execute", ()),
        ("if (Test-Path a) { Get-Content a } else { Write-Host 'none' }", "read", ("a",)),
        ("try { Get-Content a } catch { Write-Host $_ }", "read", ("a",)),
        ("foreach ($f in $all) { Get-Content $f }", "read", ()),
        ("Get-ChildItem *.log | ForEach-Object { Remove-Item $_ }", "write", ()),
        ("@'\nit's > x; rm y\n'@ | Set-Content a.txt", "write", ("a.txt",)),
        ('$text = @"\na "quote\n"@\nGet-Content a', "read", ("a",)),
        ("& $python a.py; Get-Content $x", "execute", ()),
        # values, members, operators
        ("(Get-Content a)[0..20]", "read", ("a",)),
        ("(Get-Content -Raw a | ConvertFrom-Json).scripts.test", "read", ("a",)),
        ("(Get-Content a -Raw).Replace('x', 'y').Length", "read", ("a",)),
        ("(Get-Content a) -replace 'x', 'y' -join ','", "read", ("a",)),
        ("Get-Content a | Select-Object -Index (10..20)", "read", ("a",)),
        ("Get-Content a; 'done'; \"x: $y\"; 1..5; @{a = 'b'}; [Math]::Min(3, $x.Length)", "read", ("a",)),
        ('Get-Content a | % { $i++; if ($i -gt 9) { "${i}: $_" } }', "read", ("a",)),
        ("$lines = Get-Content a; for ($i = 9; $i -lt 20; $i++) { '{0}: {1}' -f $i, $lines[$i] }", "read", ("a",)),
        ("$name = 'my-app'; Get-Content a", "read", ("a",)),
        ("$env:NAME='my-app'; if (-not (Test-Path b)) { 'none' } else { Get-Content a }", "read", ("a",)),
        ("Get-Content a; $all | ? { $_.Length -gt 9 }", "read", ("a",)),
        ("if ($x -eq 'a') { Remove-Item $x }", "write", ()),
        ("switch ($x) { 'a' { Remove-Item a } }", "write", ("a",)),
        ("Get-Content a; & 'C:\\bin\\x.exe' b", "execute", ()),
        ("Get-Content a; & (Join-Path $x y) b", "execute", ()),
        ("$x = & 'C:\\bin\\rg.exe' foo; $x.Count | Out-String", "search", ()),
        ("$x = 'a'; 7z x a.7z; .venv\\bin\\x; Get-Item .", "write", ()),
        # other cmdlets, and what .NET does
        ("(Get-Item a).Length; Get-FileHash b -Algorithm MD5 | Format-List", "read", ("a", "b")),
        ("Get-Content a | ConvertFrom-Json; $x | ConvertTo-Json -Depth 5", "read", ("a",)),
        ("npm test 2>&1 | Tee-Object -FilePath a.log", "write", ("a.log",)),
        ("Get-Content a | Tee-Object -Variable x", "read", ("a",)),
        ("Invoke-WebRequest http://localhost -OutFile a", "write", ()),
        ("iwr http://localhost", "execute", ()),
        ("Expand-Archive a.zip -DestinationPath b", "write", ()),
        ("xcopy a b /e", "write", ()),
        ("$t = [System.IO.File]::ReadAllText('a.txt'); $t.Length", "read", ()),
        ("$p = 'a'; if ([IO.File]::Exists($p)) { [IO.File]::ReadAllLines($p)[3..9] }", "read", ()),
        ('[System.IO.File]::WriteAllText("$PWD/a.txt", $t, [System.Text.UTF8Encoding]::new($false))', "write", ()),
        ("[IO.Directory]::GetFiles('src')", "read", ()),
        ("$ErrorActionPreference = 'Stop'; gc a | % { $_ }; cat .\\b", "read", ("a", ".\\b")),
        ("$env:CI='1'; npm test", "execute", ()),
        ("$all = ls; $all += dir; $n = 5; $m = 1.5MB; $t = $true; $l = @(); $l += 'x-y'; $all.Count", "read", ()),
        ("$all = foreach ($f in $files) { Get-Content $f }; $x = if ($a) { 'x' } else { 'y' }", "read", ()),
        # here-strings, without a cmdlet too
        ("gh pr create --body @'\nIt's a -> b; `rm x`\n'@", "execute", ()),
        ("$body = @'\r\nit's a > b\r\n'@\r\ngh pr comment 1 --body $body", "execute", ()),
        ('@"\nprint("a > b << 1")\n"@ | python -', "execute", ()),
        ("@'\nit's a << b; Get-Item x\n'@ | Set-Content a.cpp", "write", ("a.cpp",)),
        ("@'\n'@ > a.txt; cat b", "write", ("a.txt",)),
        # what cmdlets write, move and delete
        ("Set-Content -Encoding utf8 -Value 'x y' -Path a.txt", "write", ("a.txt",)),
        ("'x' | Out-File a.txt -Encoding ascii", "write", ("a.txt",)),
        ("Remove-Item -Recurse -Force -ErrorAction SilentlyContinue build", "write", ("build",)),
        ("rm -Recurse -Force -ea SilentlyContinue build", "write", ("build",)),
        ("Move-Item -Path a -Destination b; Copy-Item c d", "write", ("a", "b", "d")),
        ("New-Item -ItemType File -Path a.txt; ni -Path . -Name b; Remove-Item a, b", "write", ("a.txt",)),
    ],
)
def test_texts_of_windows_are_understood(command: str, kind: Kind, files: tuple[str, ...]) -> None:
    facts = classify_shell(command)
    assert (facts.kind, facts.files or facts.written) == (kind, files)


@pytest.mark.parametrize(
    ("command", "kind", "files"),
    [
        ("cat > a.ps1 <<'E'\nGet-Content C:\\a\nE", "write", ("a.ps1",)),
        ("cat > a.ps1 <<'E'\n$x = @'\na > b\n'@\nE", "write", ("a.ps1",)),
        ('git commit -m "x\nCo-Authored-By: y <y@z>"; cat a\\ b', "execute", ()),
        ('git commit -m "x\n\nStart-Up of \\"y\\" > z $a"; cat a', "execute", ()),
        ("cat a\\ b; echo `cat c`", "read", ("a b", "c")),
        ("find . -name \\*.py -exec cat {} \\;", "search", ()),
        ("$TOOL cat a\\ b", "execute", ()),
        ("perl -ne '$x = 1; print' a\\ b; cat a\\ b", "execute", ()),
    ],
)
def test_texts_of_other_shells_are_read_as_before(command: str, kind: Kind, files: tuple[str, ...]) -> None:
    facts = classify_shell(command)
    assert (facts.kind, facts.files or facts.written) == (kind, files)


@pytest.mark.parametrize(
    ("command", "pattern"),
    [
        ("findstr /s /n foo *.py", "foo"),
        ('findstr /S /C:"foo bar" src\\*.py', "foo bar"),
        ("Select-String -Path a.py -CaseSensitive -Pattern foo", "foo"),
    ],
)
def test_a_search_on_windows_names_its_pattern(command: str, pattern: str) -> None:
    facts = classify_shell(command)
    assert (facts.tool_name, facts.pattern) == ("Grep", pattern)


def test_blocks_and_values_are_read_in_one_pass() -> None:
    for piece in ("{ ", "'a' { ", "if { 1 ", "$x = ", "$x = { ", "& '", "]::", "@{"):
        classify_shell("Get-Item $x; " + piece * 50_000)
    assert run_commands('Get-Item $x; bobbin \'a; "b"\' --c="d e" | x', "bobbin") == ['bobbin \'a; "b"\' --c="d e"']


def test_arrays_name_powershell_by_its_path_too() -> None:
    facts = classify_shell([r"C:\Program Files\PowerShell\7\pwsh.exe", "-Command", r"Get-Content src\a.py"])
    assert (facts.tool_name, facts.path) == ("Read", r"src\a.py")


def test_a_watched_program_is_found_on_windows_with_its_text_as_it_stands() -> None:
    text = r'Get-Location; C:\bin\bobbin.exe search "`"x`"" --in C:\repo'
    assert run_commands(text, "bobbin") == [r'C:\bin\bobbin.exe search "`"x`"" --in C:\repo']


@pytest.mark.parametrize("command", [["cmd", "/c", "type f"], ["cmd.exe", "/C", "type", "f"]])
def test_words_that_start_a_shell_of_windows_are_understood(command: list[str]) -> None:
    facts = classify_shell(command)
    assert (facts.kind, facts.tool_name, facts.path, facts.script) == ("read", "Read", "f", "type f")
