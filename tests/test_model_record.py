"The record of a model: what it may say, what is refused, and that it is read without torch."
import dataclasses
import json
import shutil
import subprocess
import sys

import pytest
import yaml

from annotated_transformer import InputError, Translator
from annotated_transformer.config import TrainingConfig
from annotated_transformer.model.pretrained import front_matter
from annotated_transformer.model_record import PRETRAINED, ModelRecord, read_record, record_of, shipped_models, write_record
from annotated_transformer.training.loading import load
from annotated_transformer.training.loop import train

WHOLE = ModelRecord("letters to letters", "letters", ("en", "de"), "none", {"alpha": 1.5, "beam_size": 2}, (1, 2), (3, 1), doubtful_below=-0.75)


def test_what_is_written_is_read(tmp_path):
    for record in (WHOLE, ModelRecord()):
        write_record(tmp_path, record)
        assert read_record(tmp_path) == record == record_of(tmp_path) == record_of(str(tmp_path))
    assert json.loads((tmp_path / "record.json").read_text()) == {}


def test_an_older_file_of_the_search_alone_is_read_where_there_is_no_record(tmp_path):
    assert read_record(tmp_path) == ModelRecord() == record_of(tmp_path / "nowhere")
    (tmp_path / "search.json").write_text('{"alpha": 1.25}')
    assert read_record(tmp_path) == ModelRecord(search={"alpha": 1.25})
    write_record(tmp_path, WHOLE)
    assert read_record(tmp_path) == WHOLE


@pytest.mark.parametrize("alpha", [0, 0.6, 100])
def test_any_alpha_that_makes_sense(tmp_path, alpha):
    (tmp_path / "record.json").write_text(json.dumps({"search": {"alpha": alpha}}))
    assert read_record(tmp_path).search == {"alpha": alpha}


@pytest.mark.parametrize("text", [
    *(f'{{"search": {{"alpha": {alpha}}}}}' for alpha in ("-0.1", "100.5", "NaN", "Infinity", "1e308", '"x"', "null", "true")),
    *(f'{{"doubtful_below": {below}}}' for below in ("0.5", "-1e9", "NaN", '"x"', "true", "[-1]")),
    '{"search": {"beam_size": 0}}', '{"search": {"beam_size": 2.5}}', '{"search": {"extra_length": -1}}',
    '{"search": 4}', '{"alignment_head": [0, 1]}', '{"alignment_head": [1]}', '{"alignment_head": 3}',
    '{"alignment_head": ["a", "b"]}', '{"about": 4}', '{"corpus": ["a"]}', '{"languages": "en"}', '{"languages": [1]}',
    "[]", "4", "{", "", "null", 9_999 * "[",
])
def test_a_damaged_record_ends_in_one_sentence(tmp_path, text):
    (tmp_path / "record.json").write_text(text)
    with pytest.raises(InputError, match="record.json: the file is damaged") as error:
        read_record(tmp_path)
    assert "\n" not in str(error.value)


def test_a_field_of_a_later_version_is_named(tmp_path):
    (tmp_path / "record.json").write_text('{"colour": "red"}')
    with pytest.raises(InputError, match="record.json: this version of the package knows no field 'colour'"):
        read_record(tmp_path)


def test_a_run_notes_its_languages_and_the_licence_of_the_weights_that_it_begins_with(tmp_path):
    directory = tmp_path / "captions"
    directory.mkdir()
    for split in ("train", "validation"):
        for language in ("en", "fr"):
            (directory / f"{split}.{language}").write_text("one\ntwo\nthree\n" * 9)
    start = load("numbers-en-de")
    sizes = dataclasses.replace(start.model.config, dropout=0.1)
    config = TrainingConfig(sizes, corpus=str(directory), batch_tokens=200, steps=1, start_from="numbers-en-de")
    train(config, tmp_path / "run")
    again = dataclasses.replace(config, start_from=str(tmp_path / "run"))
    train(again, tmp_path / "next")  # of a run that has begun with them, too
    shutil.rmtree(directory)  # the corpus is not asked again
    for name in ("run", "next"):
        translator = Translator.from_pretrained(tmp_path / name)
        assert (translator.record.languages, translator.record.licence) == (("en", "fr"), start.record.licence)
        assert translator.record.corpus is None
        translator.save_pretrained(tmp_path / "saved")
        assert read_record(tmp_path / "saved").licence == start.record.licence == "Apache-2.0"
        card = (tmp_path / "saved" / "README.md").read_text()
        head, text = card.removeprefix("---\n").split("---\n", 1)
        assert yaml.safe_load(head) == {"library_name": "annotated_transformer", "language": ["en", "fr"], "license": "apache-2.0",
                                        "tags": ["translation"]}
        assert "The languages: en to fr.\n" in text and "The licence of the weights: Apache-2.0.\n" in card
        assert card.endswith("To be filled in: what the model was trained on, how good it is.\n")
        shutil.rmtree(tmp_path / "saved")


def test_the_hub_reads_a_card_as_it_is_meant_whatever_the_languages_are_called():
    read = {names: yaml.safe_load(front_matter(ModelRecord(languages=names)).removeprefix("---\n").removesuffix("---\n\n"))
            for names in (("no", "de"), ("a: [b", "words"), ("zh_CN", "jp"), ("src", "EN"), ("en",), ())}
    assert read["no", "de"]["language"] == ["no", "de"]  # a bare no is False
    assert "language" not in read["a: [b", "words"] and read["a: [b", "words"]["tags"] == ["translation"]
    assert read["zh_CN", "jp"]["language"] == ["zh", "ja"] and read["src", "EN"]["language"] == ["en"]
    assert "license" not in read["no", "de"] and "license: other\n" in front_matter(record_of("everyday-en-de"))
    assert "tags" not in read["en",] and "language" not in read[()]  # a parser, and a model of which nothing is known


def test_each_model_that_ships_says_what_it_is_without_torch():
    names = shipped_models()
    assert names == ["everyday-en-de", "multi30k-en-de", "numbers-en-de", "parser-en", "pronouns-en-de"]
    for name in names:
        record = record_of(name)
        assert record.about and record.licence and record.corpus and record.languages[0] == "en"
        assert load(name).record == record == read_record(PRETRAINED / name)
    code = "import sys; sys.modules['torch'] = None; from annotated_transformer.model_record import record_of; " \
           "print(record_of('everyday-en-de').alignment_head)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    head = json.loads((PRETRAINED / "everyday-en-de" / "record.json").read_text(encoding="utf-8"))["alignment_head"]
    assert said == f"{tuple(head)}\n" and len(head) == 2
