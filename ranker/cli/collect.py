"""``ranker collect``: campaigns in which people judge translations on a web page."""

from __future__ import annotations

import secrets
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from ranker.apps.collect.tasks import KINDS, KindName, Show
from ranker.cli.commands import Commands
from ranker.cli.options import Input, OmitFields, OutputForm, SeedOption, working
from ranker.cli.output import emit, print_note, print_table, say, say_progress
from ranker.errors import OptionError, counted, nearest
from ranker.files import printable

app = Commands("Collect human judgements with a local web server.")
CampaignArgument = Annotated[Path, Argument(help="Campaign file.", metavar="CAMPAIGN")]
_LOCAL = ("127.0.0.1", "localhost", "::1")
DaysOption = Annotated[float, Option("--days", help="Number of days for which links are valid.", min=0.001, max=3650)]


@app.command("new", secret=True)
def new_command(
    inputs: Annotated[Input, OmitFields(["given", "no_references"])],
    campaign: Annotated[Path, Argument(help="Campaign file to create.", metavar="CAMPAIGN")],
    kind: Annotated[KindName, Option(help="Type of judgement task.")] = "ranking",
    judges: Annotated[
        str, Option(help="Number of judges, or their codes separated by commas.", metavar="N|CODE,...")
    ] = "1",
    show: Annotated[
        Show | None,
        Option(help="Text shown with the outputs; the default depends on --kind and on whether there are references."),
    ] = None,
    judges_per_item: Annotated[
        int | None, Option(help="Judges per item (default 1, or 2 with --overlap).", min=1)
    ] = None,
    overlap: Annotated[
        float | None,
        Option(
            help="Give only this proportion of items to several judges, the others to one (default: cover all items "
            "evenly).",
            min=0,
            max=1,
        ),
    ] = None,
    gold: Annotated[
        str | None, Option(help="Corpus with known judgements, used as control items.", metavar="NAME|PATH")
    ] = None,
    gold_share: Annotated[float, Option(help="Proportion of control items from --gold.", min=0, max=0.5)] = 0.05,
    degraded_share: Annotated[
        float, Option(help="Proportion of items with a degraded copy of an output.", min=0, max=0.5)
    ] = 0.05,
    repeat_share: Annotated[
        float, Option(help="Proportion of items shown to the same judge twice.", min=0, max=0.5)
    ] = 0.05,
    quota: Annotated[int | None, Option(help="Maximum number of items per judge.", min=1)] = None,
    min_seconds: Annotated[
        float, Option(help="Judgements faster than this are counted as too fast.", min=0, max=1e6)
    ] = 2.0,
    title: Annotated[str | None, Option(help="Title of the web pages (default: the file name).")] = None,
    show_gold: Annotated[
        bool, Option("--show-gold", help="After judges answer a control item from --gold, show them the known answer.")
    ] = False,
    categories: Annotated[
        str | None,
        Option(
            help="Categories of errors for --kind mqm, separated by commas, or a file with one per line (default: "
            "those of Freitag et al. 2021).",
            metavar="A,B,...|FILE",
        ),
    ] = None,
    severities: Annotated[
        str | None,
        Option(
            help="Severities of errors for --kind mqm: neutral, minor, major, critical (default: minor,major).",
            metavar="A,B,...",
        ),
    ] = None,
    prefill: Annotated[
        str | None,
        Option(
            help="With --kind esa or mqm, errors that are already marked when judges see an item: by a rater in the "
            "data, by the included ranker (metric), or in a corpus or file.",
            metavar="RATER|metric|NAME|PATH",
        ),
    ] = None,
    url: Annotated[
        str | None,
        Option(
            help="Public address of the server, used in the judges' links (default: the address of ranker collect "
            "serve without options).",
        ),
    ] = None,
    days: DaysOption = 90.0,
    seed: SeedOption = 0,
    form: OutputForm = "table",
) -> None:
    """Create a campaign, with links for its owner and judges.

    A campaign is one file that contains all items to be judged. Links are printed once and are not stored. Judges are
    identified by codes; do not use their names.

    Example: ranker collect new demo.campaign --data sample --kind ranking --judges 2
    """
    from ranker.apps.collect.campaign import host_and_port
    from ranker.apps.collect.making import make_campaign
    from ranker.apps.collect.marking import categories_in, prefilled, severities_in
    from ranker.apps.collect.settings import CampaignSettings
    from ranker.corpora import catalogue

    if url is not None:
        host_and_port(url)
    if show_gold and gold is None:
        raise OptionError("--show-gold: needs --gold CORPUS, whose judgements are the known answers")
    names, codes = categories_in(categories, KINDS[kind]), _codes(judges)
    dataset = inputs.read(to_score=False)
    settings = CampaignSettings(
        id=secrets.token_hex(4),
        title=printable(title or campaign.name.split(".")[0]),
        kind=kind,
        show=show or KINDS[kind].show_by_default(references=len(dataset.references) > 0),
        next="uniform" if overlap is None else "overlap",
        judges_per_item=judges_per_item or (1 if overlap is None else 2),
        overlap=0.2 if overlap is None else overlap,
        gold=gold_share if gold else 0.0,
        degraded=degraded_share,
        repeat=repeat_share,
        quota=quota,
        min_seconds=min_seconds,
        seed=seed,
        show_gold=show_gold,
        url=url,
        categories="\n".join(names) or None,
        severities=severities_in(severities, KINDS[kind]),
    )
    known = catalogue.load(gold) if gold else None
    marks: list[dict[int, list[Any]]] = []
    if prefill is not None:
        with working("marking errors"):
            prefill_name, marks = prefilled([dataset] if known is None else [dataset, known], prefill, settings)
        settings = replace(settings, prefill=prefill_name)
    with working("creating the campaign"):
        created = make_campaign(campaign, dataset, settings, codes, gold=known, prefill=marks, days=days)
    if created.passed_over:
        print_note(f"{counted(created.passed_over, 'source')} skipped for having fewer than two different outputs")
    if created.unmarked:
        found = f"{counted(created.unmarked, 'gold item')} without errors marked in advance by {settings.prefill}"
        print_note(f"{found}: judges may recognise gold items, because most other items have them")
    rows = [{"who": code, "link": link} for code, link in created.links.items()]
    made = f"{counted(created.items, 'item')} to judge"
    if overlap is None and settings.judges_per_item < len(codes):
        made += f", each by {settings.judges_per_item} of {len(codes)} judges"
    several = min(settings.judges_per_item, len(codes))
    made += f", {created.shared:,} of them by {several} judges" if created.shared and several > 1 else ""
    made += f", {counted(created.gold, 'gold item')}" if created.gold else ""
    made += f", {counted(len(marks[0]), 'translation')} marked by {settings.prefill}" if prefill else ""
    note = f"{campaign}: {made}; start with: ranker collect serve {campaign}"
    emit(form, None, rows, signature=note)


def _codes(judges: str) -> list[str]:
    if judges.isascii() and judges.isdigit() and len(judges) < 5:
        width = max(2, len(judges))
        return [f"judge{number:0{width}}" for number in range(1, int(judges) + 1)]
    codes = [code.strip() for code in judges.split(",")]
    twice = next((code for code in codes if codes.count(code) > 1), None)
    if twice is not None:
        raise OptionError(f"--judges: {twice!r} is listed twice; list each judge once")
    return codes


@app.command("serve")
def serve_command(
    campaign: CampaignArgument,
    host: Annotated[str, Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int | None,
        Option(
            help="Port to listen on; 0 for any free port (default: the port of the campaign's --url if it is on this "
            "computer, or 8765).",
            min=0,
            max=65535,
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        Option(
            help="Another host name by which browsers reach the server, besides localhost, --host and the host of the "
            "campaign's --url; may be repeated.",
            metavar="NAME",
        ),
    ] = None,
) -> None:
    """Serve a campaign to its judges until interrupted.

    The server accepts connections from this computer only, unless --host is given. To admit other computers, run it
    behind a TLS proxy: otherwise links and answers are sent unencrypted. See docs/collect.md for an example.

    Example: ranker collect serve demo.campaign
    """
    from ranker.apps.collect.campaign import host_and_port, opened
    from ranker.apps.collect.settings import DEFAULT_ADDRESS, DEFAULT_PORT
    from ranker.apps.collect.web.pages import environment

    with opened(campaign) as (_, settings):
        environment()
    from ranker.apps.collect.web.server import serve

    public, public_port = host_and_port(settings.url) if settings.url else (None, None)
    if port is None:
        port = public_port if public in _LOCAL and public_port is not None else DEFAULT_PORT
    if host not in _LOCAL:
        print_note(
            f"{host} is reachable from other computers, and links and answers are not encrypted: use a TLS proxy; "
            "with --allow-host, give the host names that they use for this computer"
        )

    def ready(addresses: list[str]) -> None:
        links = f"; personal links lead to {settings.url}" if settings.url else ""
        if not settings.url and addresses[0] != DEFAULT_ADDRESS:
            links = f"; personal links now begin with {addresses[0]}"
            links += f": replace {DEFAULT_ADDRESS} in the links that ranker collect new printed"
        say_progress(f"ranker: serving {campaign} at {' and '.join(addresses)}{links}; stop with Ctrl-C")

    serve(campaign, host, port, allow_host or [], ready)


@app.command("status")
def status_command(campaign: CampaignArgument, form: OutputForm = "table") -> None:
    """Show the progress of a campaign and the quality of its judges.

    Example: ranker collect status demo.campaign
    """
    from dataclasses import asdict

    from ranker.apps.collect.campaign import opened, progress_of
    from ranker.apps.collect.figures import figures_of

    with opened(campaign) as (connection, settings), working("computing"):
        progress = progress_of(connection)
        figures = figures_of(connection, settings)
    rows = [
        {
            "judge": judge["code"],
            "judged": judge["judged"],
            "seconds": None if judge["seconds"] is None else round(judge["seconds"], 1),
            "too fast": judge["fast"],
            "checks": judge["gold"] + judge["degraded"],
            "checks right": judge["checks"],
            "repeats": judge["repeats"],
            "same as before": judge["self_agreement"],
            "kappa": judge["kappa"],
            "look at": "; ".join(judge["flags"]),
        }
        for judge in figures["judges"]
    ]
    signature = f"{progress.judged:,} of {progress.wanted:,} judgements, and {progress.further:,} checks and repeats"
    for name, value in figures["agreement"]["figures"].items() if figures["agreement"] else ():
        if value["value"] is not None:
            signature += f"\n{name}: {value['value']:.3f}"
    document = {"settings": asdict(settings), "progress": asdict(progress), **figures}
    emit(form, document, rows, signature=signature)


@app.command("export")
def export_command(
    campaign: CampaignArgument,
    output: Annotated[
        Path,
        Option(
            "--output", "-o", help="Output file, such as judgements.jsonl; preferences go to a second file next to it."
        ),
    ],
    min_checks: Annotated[
        float | None, Option(help="Exclude judges with a lower share of correct checks.", min=0, max=1)
    ] = None,
    min_self: Annotated[float | None, Option(help="Exclude judges with lower self-agreement.", min=0, max=1)] = None,
    min_kappa: Annotated[
        float | None, Option(help="Exclude judges with a lower kappa against other judges.", min=-1, max=1)
    ] = None,
    max_fast: Annotated[
        float | None, Option(help="Exclude judges with a higher share of judgements that are too fast.", min=0, max=1)
    ] = None,
    form: OutputForm = "table",
) -> None:
    """Export the judgements, for ranker train and ranker agreement.

    Judgements collected so far are exported, and the campaign continues. Excluded judges are listed by code, with the
    reason.

    Example: ranker collect export demo.campaign -o judgements.jsonl
    """
    from ranker.apps.collect.campaign import opened
    from ranker.apps.collect.exporting import dataset_of, export
    from ranker.apps.collect.quality import Thresholds, agreement_of, judge_qualities, left_out
    from ranker.corpora.marked_errors import NO_ERROR
    from ranker.files import check_target

    check_target(output)
    thresholds = Thresholds(min_checks, min_self, min_kappa, max_fast)
    with opened(campaign) as (connection, settings), working("exporting"):
        excluded = []
        if thresholds != Thresholds():
            agreement = agreement_of(dataset_of(connection, settings, by_judge=True), settings.task, resamples=0)
            excluded = left_out(judge_qualities(connection, settings, agreement), thresholds)
        reasons = {judge["judge"]: judge["reason"] for judge in excluded}
        dataset, written = export(connection, settings, output, without=reasons)
    judgements = dataset.preferences["primary"].sum() if len(dataset.preferences) else len(dataset.ratings)
    what = f"{judgements:,} {'comparisons of two outputs' if len(dataset.preferences) else 'scores'}"
    following = f"ranker train --data {output}"
    if settings.task.severities:
        errors = int((dataset.errors["severity"] != NO_ERROR).sum())
        what = f"{counted(errors, 'error')} marked in {counted(dataset.errors['candidate'].nunique(), 'output')}"
        following = f"ranker agreement --data {output} --systems mean"

    def show() -> None:
        if excluded:
            print_table(excluded, "excluded:", wide=("reason",))
            typer.echo("")
        for path in written:
            say(f"written: {path}")
        say(f"{what}; next: {following}")

    document = {
        "written": [str(path) for path in written],
        "judgements": int(judgements),
        "left_out": excluded,
        "show_gold": settings.show_gold,
        "prefill": settings.prefill,
    }
    emit(form, document, excluded, show)


@app.command("link")
def link_command(
    campaign: CampaignArgument,
    code: Annotated[str, Argument(help="Code of a judge, or the word owner.", metavar="CODE")],
    close: Annotated[bool, Option("--close", help="Revoke the judge's link instead.")] = False,
    days: DaysOption = 90.0,
) -> None:
    """Create a new personal link for a judge.

    The previous link is revoked. An unknown code adds a judge.

    Example: ranker collect link demo.campaign judge07
    """
    from ranker.apps.collect import access
    from ranker.apps.collect.campaign import opened, transaction

    with opened(campaign) as (connection, settings), transaction(connection):
        if close:
            if not access.close_link(connection, code):
                raise OptionError(f"no judge has the code {code!r}{nearest(code, access.codes(connection))}")
            say(f"closed: {code}")
            return
        token = access.give_link(connection, code, days)
    say(f"{settings.address}/enter/{token}")
