#!/usr/bin/env python3
"""Checks every #include and header guard of src/ against the module diagram.

Prints file:line and the broken rule of each violation; exit status 1 if any.
An optional argument names another repository root.
"""
import pathlib
import re
import sys

# What each module may use directly; what those use, it may use too.
ROWS = {
    "base": [],
    "topology": ["base"],
    "schedule": ["topology"],
    "collective": ["schedule"],
    "cost": ["collective"],
    "hlo": ["base"],
    "step": ["cost"],
    "workload": ["step", "hlo"],
    "passes": ["workload"],
    "engine": ["schedule"],
    "sim": ["passes", "workload", "engine"],
    "report": ["sim"],
    "cli": ["report"],
}
INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
JSON_FILES = re.compile(r".*/([^/]*_json|json_[^/]*)\.cc|report/json\.cc")
YAML_FILES = re.compile(r".*/[^/]*_yaml\.cc")
XML_FILES = re.compile(r".*/[^/]*_xml\.cc")


def closure(module):
    return {module}.union(*map(closure, ROWS[module]))


def include_error(name, quote, target):
    """Returns the rule that including `target` in src/`name` breaks, or None."""
    module = name.split("/")[0]
    top = target.split("/")[0]
    if top in ("simgrid", "xbt", "smpi"):
        return None if module == "engine" else f"only engine/ may include <{target}>"
    if top == "CLI":
        return None if module == "cli" else f"only cli/ may include <{target}>"
    if top == "pugixml.hpp":
        return None if XML_FILES.fullmatch(name) else f"only *_xml.cc may include <{target}>"
    if top == "zlib.h":
        return None if name == "workload/gunzip.cc" else f"only workload/gunzip.cc may include <{target}>"
    if top == "yaml-cpp":
        return None if YAML_FILES.fullmatch(name) else f"only *_yaml.cc may include <{target}>"
    if top == "nlohmann":
        if target == "nlohmann/json_fwd.hpp" or JSON_FILES.fullmatch(name):
            return None
        return f"only *_json.cc, json_*.cc and report/json.cc may include <{target}>"
    if "/" not in target or top not in ROWS:
        return None if quote == "<" else f'"{target}" is not rooted at a module of src/'
    if top not in closure(module):
        return f"{module} may not use {top}; it may use {', '.join(sorted(closure(module)))}"
    return None


def check_file(root, path):
    """Yields (line, rule) for each violation in one file."""
    name = path.relative_to(root / "src")
    module = name.parts[0]
    if len(name.parts) < 2 or module not in ROWS:
        yield 1, f"{name.parts[0]} is not a module; known: {', '.join(ROWS)}"
        return
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        if found := INCLUDE.match(line):
            if rule := include_error(name.as_posix(), *found.groups()):
                yield number, rule
    if path.suffix == ".h":
        guard = "PODSIM_" + re.sub(r"\W", "_", str(name)).upper() + "_"
        directives = [(n, d) for n, d in enumerate(lines, 1) if d.startswith("#")]
        for wanted, (number, found) in zip(
                (f"#ifndef {guard}", f"#define {guard}"), directives + [(1, "")] * 2):
            if found != wanted:
                yield number, f"header guard: expected {wanted}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
    root = root if root.is_dir() else root.parent.parent
    files = sorted(p for p in (root / "src").rglob("*") if p.suffix in (".cc", ".h"))
    violations = [f"{path.relative_to(root)}:{number}: {rule}"
                  for path in files for number, rule in check_file(root, path)]
    print(*violations, f"{len(files)} files, {len(violations)} violations", sep="\n")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
