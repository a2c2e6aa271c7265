"""The audit's part of a report: there if `driftwise audit` wrote beside the results."""

import html
import re
from pathlib import Path

import pytest

from driftwise.analysis.audit import audit_study, worst_of
from driftwise.analysis.report import write_report
from driftwise.cli.output import json_text
from driftwise.experiments import EXPERIMENTS, prepare
from tests.report_folders import make_folder


def test_an_audit_beside_the_results_is_a_section_of_the_report(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "results")
    assert "<h2>Audit</h2>" not in write_report(folder).read_text(encoding="utf-8")
    study = prepare(EXPERIMENTS["quickstart"], num_episodes=20, num_runs=1)
    audit = audit_study(study, stride=5, agent="LSVI-UCB")
    (folder / "audit.json").write_text(json_text([audit]), encoding="utf-8")
    page = write_report(folder).read_text(encoding="utf-8")
    (section,) = re.findall(r"<section><h2>Audit</h2>.*?</section>", page, re.DOTALL)
    assert f"{len(audit.findings)} statements, none violated." in section
    for finding in worst_of(audit.findings):
        (row,) = re.findall(rf"<tr><td>{finding.statement}</td>.*?</tr>", section)
        assert f"<td>{finding.group}</td>" in row
        assert f"<td>{finding.reading}</td>" in html.unescape(row)
        assert f">{finding.checked:,}<" in row


@pytest.mark.parametrize(
    "text", ["", "{}x", '{"name": 1}', "[1]", '[{"name": "a", "findings": [{}], "skipped": []}]']
)
def test_a_damaged_audit_is_named(text: str, tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "results")
    (folder / "audit.json").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"audit\.json is damaged: it is not what 'driftwise audit' writes"):
        write_report(folder)
