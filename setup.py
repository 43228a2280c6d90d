"Hand the metadata in settings.ini on to setuptools."
import re
from configparser import ConfigParser
from pathlib import Path

from setuptools import setup

root = Path(__file__).parent
config = ConfigParser(delimiters=["="], interpolation=None)
config.read(root / "settings.ini", encoding="utf-8")
about = config["DEFAULT"]
readme, url = root / "README.md", f"https://github.com/{about['user']}/{about['repo']}"
description = readme.read_text(encoding="utf-8") if readme.exists() else about["description"]
# Elsewhere than in the repository, pictures and links need the whole address.
description = re.sub(r"(!\[[^\]]*\]\()(?!https?:)", rf"\1{url}/raw/{about['branch']}/", description)
description = re.sub(r"(?<!!)(\[[^\]]*\]\()(?!https?:)", rf"\1{url}/blob/{about['branch']}/", description)

setup(
    name=about["lib_name"],
    version=about["version"],
    description=about["description"],
    long_description=description,
    long_description_content_type="text/markdown",
    author=about["author"],
    author_email=about["author_email"],
    url=url,
    license=about["license"],
    license_files=["LICENSE"],
    keywords=about["keywords"].split(),
    python_requires=f">={about['min_python']}",
    packages=[about["lib_path"]],
    package_data={about["lib_path"]: ["py.typed", "pretrained/**", "workbook/*"]},
    install_requires=about["requirements"].split(),
    extras_require={extra: about[f"{extra}_requirements"].split() for extra in ("dev", "exchange", "site", "browser")},
    entry_points={"console_scripts": [about["console_scripts"]]},
)
