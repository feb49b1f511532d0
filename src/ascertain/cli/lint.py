"""``ascertain lint MODULE:APP``: what is worth knowing before the tools are used."""

from __future__ import annotations

from ascertain.cli.exits import Exit, json_text
from ascertain.cli.load import load_app
from ascertain.cli.options import AppName, AsJson, examples
from ascertain.cli.out import put
from ascertain.cli.paper import Paper
from ascertain.report.findings import Finding, Severity
from ascertain.report.lint import lint
from ascertain.report.words import many

EPILOG = examples("ascertain lint shop.tools:app", "ascertain lint shop.tools:app --json")


def command(app: AppName, as_json: AsJson = False) -> int:
    """Check what an app's tools declare, and which clients repeat by themselves.

    Nothing is called, opened or sent. The exit code is 1 where something is bad or worth a
    warning; notes (info) do not count.
    """
    loaded = load_app(app)
    findings = lint(loaded)
    if as_json:
        tools = [entry.name for entry in loaded.registry]
        put(f"{json_text({'tools': tools, 'findings': [f.as_dict() for f in findings]})}\n")
    else:
        _print(findings, len(loaded.registry))
    return Exit.FOUND if any(finding.counts for finding in findings) else Exit.FINE


def _print(findings: list[Finding], tools: int) -> None:
    paper = Paper()
    for finding in findings:
        severity = str(finding.severity)
        paper.grid([((f"{severity:4}", severity), (finding.rule, "title"))], indent=0)
        paper.line(finding.sentence, indent=6)
        paper.line((f"next: {finding.next_step}", "quiet"), indent=6)
    if findings:
        paper.blank()
    counts = {s: sum(f.severity is s for f in findings) for s in Severity}
    found = ", ".join(f"{count} {severity}" for severity, count in counts.items())
    paper.line((f"{many(tools, 'tool')}: {found}", "quiet"))
    paper.write()
