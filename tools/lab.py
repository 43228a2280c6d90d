"""JupyterLab's settings for `make lab`: notebooks are read with the version of the Python that runs them.

JupyterLab compares it with the kernel's, and treats a notebook as changed if they differ. Traffic between the two is
encrypted if both support it: otherwise each kernel starts with a warning in the terminal.
"""
import platform

from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager


class Contents(AsyncLargeFileManager):
    "The files as they are, but for that version."

    async def get(self, *arguments, **options):
        model = await super().get(*arguments, **options)
        if model["type"] == "notebook" and model["content"]:
            about = model["content"]["metadata"].get("language_info", {})
            if "version" in about:
                about["version"] = platform.python_version()
        return model


if "get_config" in globals():  # JupyterLab reads this file
    get_config().ServerApp.contents_manager_class = Contents  # noqa: F821
    get_config().KernelManager.transport_encryption = "auto"  # noqa: F821
