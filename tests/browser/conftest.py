"What the tests in a browser share: Chromium, pages that remember what they asked for, JupyterLab on a copy of the book."
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from annotated_transformer import InputError
from benchmarks.explorer import chromium
from benchmarks.shared.side_by_side import free_port

ROOT = Path(__file__).resolve().parents[2]

# Python reads this at its start, in the server and in every kernel. Who asks another machine is written down and gets no answer.
GUARD = '''
import os
import sys

HERE = os.uname().nodename


def guard(event, arguments):
    if event == "socket.getaddrinfo":
        host = arguments[0]
    elif event == "socket.connect" and isinstance(arguments[1], tuple):
        host = arguments[1][0]
    else:
        return
    host = host.decode() if isinstance(host, bytes) else host
    if isinstance(host, str) and host not in ("", "", "localhost", "0.0.0.0", "::", "::1", HERE) and not host.startswith("127."):
        with open(os.environ["ASKED"], "a") as asked:
            print(host, *sys.argv[:2], file=asked)
        raise OSError(f"{host} is not this machine")


sys.addaudithook(guard)
'''


@pytest.fixture(scope="session")
def browser():
    try:
        with chromium() as browser:
            yield browser
    except InputError as missing:
        pytest.skip(str(missing))


def watched(page):
    "The page; in `page.asked` every address that it asks for, in `page.faults` what its scripts complain of."
    page.set_default_timeout(300_000)  # milliseconds; a busy machine is no fault
    page.asked, page.faults = [], []
    page.on("request", lambda request: page.asked.append(request.url))
    page.on("websocket", lambda socket: page.asked.append(socket.url))
    page.on("requestfailed", lambda request: page.faults.append(f"{request.url}: {request.failure}"))
    page.on("pageerror", lambda error: page.faults.append(str(error)))
    page.on("console", lambda message: page.faults.append(message.text) if message.type == "error" else None)
    return page


@pytest.fixture
def page(browser):
    page = watched(browser.new_page(viewport={"width": 1400, "height": 1000}))
    yield page
    page.close()


@pytest.fixture
def open_explorer(browser, tmp_path):
    "A function that saves an explorer's page and opens it from its file; no other address is answered. At the end: no fault."
    opened = []

    def open_page(explorer, beside=None, **context):
        path = tmp_path / "heads.html"
        explorer.save(path, beside)
        page = watched(browser.new_context(**{"viewport": {"width": 1400, "height": 1000}} | context).new_page())
        page.route("**/*", lambda route: route.continue_() if route.request.url == path.as_uri() else route.abort())
        page.goto(path.as_uri())
        opened.append(page)
        return page

    yield open_page
    for page in opened:
        assert page.faults == [] and {address for address in page.asked if not address.startswith("blob:")} == {page.url}
        page.context.close()


@pytest.fixture(scope="session")
def lab(browser, tmp_path_factory):
    """JupyterLab with settings of its own, on a copy of what git knows: running a notebook changes nothing here.

    Its `address`, the copied `directory`, and `asked()`: the hosts that the server or a kernel has asked.
    """
    copy = tmp_path_factory.mktemp("repository")
    known = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(known, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True).stdout.split("\0")[:-1]:
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name)
    own = tmp_path_factory.mktemp("jupyter")
    for name in ("guard", "config", "runtime", "settings", "workspaces"):
        (own / name).mkdir()
    (own / "guard" / "sitecustomize.py").write_text(GUARD, encoding="utf-8")
    tracker = own / "settings" / "@jupyterlab" / "notebook-extension"
    tracker.mkdir(parents=True)
    (tracker / "tracker.jupyterlab-settings").write_text('{"windowingMode": "none"}')  # every cell stands on the page
    notices = own / "settings" / "@jupyterlab" / "apputils-extension"
    notices.mkdir()
    (notices / "notification.jupyterlab-settings").write_text('{"fetchNews": "false"}')  # or it asks, before the pictures
    port = free_port()
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(own / "guard"), str(copy)]), "ASKED": str(own / "asked"), "TQDM_DISABLE": "1",
        "JUPYTER_CONFIG_DIR": str(own / "config"), "JUPYTER_RUNTIME_DIR": str(own / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(own / "settings"), "JUPYTERLAB_WORKSPACES_DIR": str(own / "workspaces"),
    }
    options = ["--config", ROOT / "tools" / "lab.py", "--no-browser", "--allow-root", f"--port={port}",
               "--IdentityProvider.token=", f"--notebook-dir={copy}", "--LabApp.expose_app_in_browser=True",
               "--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    (own / "asked").touch()
    with open(own / "log", "w") as log:
        server = subprocess.Popen([sys.executable, "-m", "jupyter", "lab", *options], env=environment, stdout=log, stderr=log)
    try:
        for _ in range(600):
            with socket.socket() as attempt:
                if attempt.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert server.poll() is None, (own / "log").read_text()
            time.sleep(0.2)
        address = f"http://127.0.0.1:{port}"
        yield SimpleNamespace(address=address, directory=copy, asked=lambda: (own / "asked").read_text().splitlines())
    finally:
        server.terminate()
        server.wait()
