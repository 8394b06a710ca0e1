#!/usr/bin/env python3
"""Makes the manual page of a public header, so that its comments are the only text that has to be kept right.

usage: manual.py HEADER > PAGE

The header's first comment is the description. Every comment before declarations describes them; indented lines of it that begin
with REM_E are the errors. Declarations are printed as they stand."""
import re
import sys
import textwrap

DATE = "November 30, 2026"
BRIEF = {
    "error": "error codes of the Remora runtime",
    "job": "jobs, nodes, threads and symmetric memory",
    "wait": "remote operations with work ids, and local memory",
    "sv": "shared variables and the global fence",
    "lock": "weak, strong and node locks",
    "sc": "sequentially consistent locations",
    "object": "sequential data structures made linearisable",
    "remora": "the Remora runtime",
}


def escape(line):
    line = line.replace("\\", "\\e")
    return "\\&" + line if line[:1] in (".", "'") else line


def comment_lines(block):
    """The text of a comment, without the stars."""
    text = re.sub(r"^/\*|\*/$", "", block.strip(), flags=re.S)
    return [re.sub(r"^ \* ?", "", line).rstrip() for line in text.strip().split("\n")]


def literal(lines):
    return [".Bd -literal -compact"] + [escape(line) for line in lines] + [".Ed"]


def fill(lines):
    """A paragraph: a new line for each sentence, none too long."""
    text = re.sub(r"\s+", " ", " ".join(lines)).strip()
    out = []
    for sentence in re.split(r"(?<=[.:;!?]) (?=[A-Z`])", text):
        out += [escape(line) for line in textwrap.wrap(sentence, 78, break_long_words=False, break_on_hyphens=False)]
    return out


def paragraphs(lines):
    """Running text filled; items of a list each by itself; the errors each time in a paragraph of their own."""
    out, block = [], []
    for line in lines + [""]:
        heading = re.match(r"^---- (.*) ----$", line)
        if heading:
            out += [".Ss " + heading.group(1)]
            continue
        starts = not line.strip() or re.match(r"\s+(- |rem_|REM_E)", line)
        if starts and block:
            out += fill(block) + [".Pp"]
            block = []
        if line.strip():
            block.append(re.sub(r"^\s+(?=REM_E)", "Errors: ", line) if not block else line)
    return out


def tidy(lines):
    """No paragraph break at the beginning, at the end, or twice."""
    out = []
    for line in lines:
        if line == ".Pp" and (not out or out[-1].split()[0] in (".Pp", ".Sh", ".Ss")):
            continue
        if line.startswith((".Sh", ".Ss")) and out and out[-1] == ".Pp":
            out.pop()
        out.append(line)
    return out[:-1] if out and out[-1] == ".Pp" else out


def declarations(code):
    """The public part of the code between two comments."""
    code = re.sub(r"static inline ([^{;]*?)\n{.*?\n}", r"\1;", code, flags=re.S)
    code = re.sub(r"#if(def)? .*?#endif", "", code, flags=re.S)
    code = re.sub(r"^\s*#(?!define REM_[A-Z_]+ ).*$|^}$|^extern \"C\" {$", "", code, flags=re.M)
    code = code.replace("REM_API ", "")
    code = re.sub(r"\{[^{}]*/\* private[^{}]*\}", "{ /* private */ }", code)
    return [line for line in code.split("\n") if line.strip()]


def functions(header):
    return re.findall(r"^(?:REM_API|static inline) [^;{]*?\b(rem_\w+)\(", header, flags=re.M)


def split(header):
    """(comment, code) pairs; comments inside of braces or after code belong to the code."""
    parts, comment, code, depth = [], None, "", 0
    for piece in re.split(r"(^/\*.*?\*/\n)", header, flags=re.S | re.M):
        if piece.startswith("/*") and depth == 0:
            if comment is not None:
                parts.append((comment, code))
            comment, code = piece, ""
        else:
            code += piece
            plain = re.sub(r"/\*.*?\*/|extern \"C\" {|#ifdef __cplusplus\n}", "", piece, flags=re.S)
            depth += plain.count("{") - plain.count("}")
    return parts + [(comment, code)]


def page(path):
    name = re.search(r"(\w+)\.h$", path).group(1)
    header = open(path, encoding="utf-8").read()
    parts = split(header)
    names = [f for f in functions(header) if not f.endswith("_")]
    title = "remora" if name == "remora" else f"remora_{name}"
    out = [f".Dd {DATE}", f".Dt {title.upper()} 3", ".Os", ".Sh NAME"]
    out += [f".Nm {n} ," for n in [title] + names[:-1]] + [f".Nm {names[-1]}"] if names else [f".Nm {title}"]
    out += [f".Nd {BRIEF[name]}", ".Sh LIBRARY", "libremora (pkg-config libremora)", ".Sh SYNOPSIS", f".In remora/{name}.h",
            ".Sh DESCRIPTION"]
    out += paragraphs(comment_lines(parts[0][0]))
    for comment, code in parts[1:]:
        lines = comment_lines(comment)
        if lines[0].startswith("Private"):
            continue
        shown = declarations(code)
        if shown:
            out += [".Pp", *literal(shown), ".Pp"]
        else:
            out += [".Pp"]
        out += paragraphs(lines)
    out += [".Sh SEE ALSO"]
    others = [other for other in ("error", "job", "wait", "sv", "lock", "sc", "object") if other != name]
    out += [".Xr remora-launch 1 ,"] + [f".Xr remora_{o} 3 ," for o in sorted(others)[:-1]] + [f".Xr remora_{sorted(others)[-1]} 3"]
    return "\n".join(tidy(out)) + "\n"


sys.stdout.write(page(sys.argv[1]))
