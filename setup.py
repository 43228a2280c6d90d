"Hand the metadata in settings.ini on to setuptools."
import re
import shutil
from configparser import ConfigParser
from pathlib import Path

from setuptools import find_packages, setup

root = Path(__file__).parent
config = ConfigParser(delimiters=["="], interpolation=None)
config.read(root / "settings.ini", encoding="utf-8")
about = config["DEFAULT"]
shutil.rmtree(root / "build" / "lib", ignore_errors=True)  # modules of an earlier installation, which are gone
readme, url = root / "README.md", f"https://github.com/{about['user']}/{about['repo']}"
description = readme.read_text(encoding="utf-8") if readme.exists() else about["description"]
# Elsewhere than in the repository, pictures and links need the whole address.
description = re.sub(r"(!\[[^\]]*\]\()(?!https?:)", rf"\1{url}/raw/{about['branch']}/", description)
description = re.sub(r"(\]\()(?!https?:)", rf"\1{url}/blob/{about['branch']}/", description)

EXTRAS = ("parsing", "charts", "tensorboard", "exchange", "hub")  # a user's; the others are a developer's
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
extras = {extra: about[f"{extra}_requirements"].split() for extra in (*EXTRAS, "dev", "site", "browser")}
extras["all"] = [requirement for extra in EXTRAS for requirement in extras[extra]]

setup(
    name=about["lib_name"],
    version=about["version"],
    description=about["description"],
    long_description=description,
    long_description_content_type="text/markdown",
    author=about["author"],
    author_email=about["author_email"],
    url=url,
    project_urls={
        "Book": f"https://{about['user']}.github.io/{about['repo']}/",
        "Source": url,
        "Issues": f"{url}/issues",
        "Changes": f"{url}/blob/{about['branch']}/CHANGELOG.md",
        "Licences of the weights": f"{url}/tree/{about['branch']}/annotated_transformer/pretrained",
    },
    license_expression=f"{about['license']} AND LicenseRef-Trained-Weights",  # some weights are not for commercial use
    license_files=["LICENSE", "annotated_transformer/pretrained/*/README.md"],  # of the code; of the weights and their data
    classifiers=[
        "Development Status :: 3 - Alpha",
        "Intended Audience :: Developers",
        "Intended Audience :: Education",
        "Intended Audience :: Science/Research",
        *(f"Operating System :: {system}" for system in ("POSIX :: Linux", "MacOS", "Microsoft :: Windows")),
        *(f"Programming Language :: Python :: {version}" for version in ("3", "3 :: Only", *PYTHONS)),
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Topic :: Text Processing :: Linguistic",
        "Typing :: Typed",
    ],
    keywords=about["keywords"].split(),
    python_requires=f">={about['min_python']}",
    packages=find_packages(include=[f"{about['lib_path']}*"]),
    package_dir={"": "."},  # an editable installation is then a directory in a .pth, where type checkers look
    package_data={
        about["lib_path"]: ["py.typed", "pretrained/**", "workbook/pages/**", "exchange/page/*", "figures/explorer_page/*"],
    },
    install_requires=about["requirements"].split(),
    extras_require=extras,
    entry_points={"console_scripts": [about["console_scripts"]]},
)
