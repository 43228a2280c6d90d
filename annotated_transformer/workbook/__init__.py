"The pages with their code left out, for the reader to write: the functions for the notebooks and for those who check them."
from .exercise import Exercise, exercises, folder, written_as
from .judging import Verdict, check, failure, failures, judge
from .notebooks import check_all, in_directory, notebook_of, read_own, use_own, verdicts_on, write

__all__ = ["Exercise", "Verdict", "check", "check_all", "exercises", "failure", "failures", "folder", "in_directory", "judge",
           "notebook_of", "read_own", "use_own", "verdicts_on", "write", "written_as"]
