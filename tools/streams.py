"Join what a cell printed in several pieces into one output, as JupyterLab shows it: a kernel sends one piece per flush."


def joined(outputs: list[dict]) -> list[dict]:
    "The same outputs, in which no two pieces of one stream follow each other."
    found: list[dict] = []
    for output in outputs:
        before = found[-1] if found else {}
        if output["output_type"] == "stream" == before.get("output_type") and output["name"] == before["name"]:
            text = "".join(before["text"]) + "".join(output["text"])
            found[-1] = before | {"text": text.splitlines(keepends=True)}
        else:
            found.append(output)
    return found


def with_whole_streams(notebook: dict) -> dict:
    "The notebook with the streams of each cell joined."
    cells = [cell | {"outputs": joined(cell["outputs"])} if cell.get("outputs") else cell for cell in notebook["cells"]]
    return notebook | {"cells": cells}
