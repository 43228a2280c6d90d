"""Which files in results/ belong to weights other than those that ship: python tools/stale.py

A file that measures a shipped model names it as `model` or among `models` in its configuration, or in its command, and records
the checksum of its weights. For each file that is out of date, or does not say, this prints a line and the command that measures
it again; exit status 1 if there are any. `make run` runs the pages that read these files again.

Files of times are left out: how long a product takes depends on the sizes of the weights, not on their values, and the processor
that was measured may not be at hand. They also say how many sentences a kernel changed; this refers to the weights they record.
"""
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from usage import words_given

from annotated_transformer.model_record import shipped_models
from annotated_transformer.results import weights_of

ROOT = Path(__file__).parents[1]
TIMES = ("kernels", "threads", "vocabulary")  # how the names of such files begin, in results/speed


def measured(record: dict) -> set[str]:
    "The models that ship and that a file measures."
    config, words = record.get("config") or {}, record["command"].split()
    named = {config.get("model")} if isinstance(config.get("model"), str) else set(config.get("models", []))
    if words[:2] == ["annotated-transformer", "score"]:
        named.add(words[2])
    return {name for name in named if name in shipped_models()}


def stale(root: Path = ROOT) -> Iterator[tuple[Path, str, str]]:
    "Of each file that is out of date: its path, why, and the command that makes it anew."
    for path in sorted((root / "results").rglob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(record, dict) or "command" not in record:
            continue
        if path.parent.name == "speed" and path.name.startswith(TIMES):
            continue
        noted = record.get("weights", {})
        names = measured(record) | {*noted}
        today = weights_of(names)
        missing, old = names - {*noted}, [name for name in noted if noted[name] != today.get(name)]
        if missing or old:
            why = f"measured other weights of {', '.join(old)}" if old else f"does not say which weights of {', '.join(missing)}"
            yield path.relative_to(root), why, record["command"]


if __name__ == "__main__":
    words_given(__doc__, ())
    found = [f"{path} {why}; {command}" for path, why, command in stale()]
    print("\n".join(found) or f"All results are of the weights that ship, but for times ({', '.join(TIMES)}), left out.")
    sys.exit(1 if found else 0)
