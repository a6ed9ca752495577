"""The oracle: knows the promises, owns the truth, and shares no code with the engine."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from tests.simulation.documents import leaves
from tests.simulation.fleet import Resource
from tests.simulation.history import Step, Violation
from tests.simulation.kernel import Process
from tests.simulation.kinds import KINDS
from tests.simulation.oracle import outputs, resting, sends, truth
from tests.simulation.oracle.promises import PROMISES
from tests.simulation.oracle.truth import Book
from tests.simulation.world import Sent, Thing, World

if TYPE_CHECKING:
    from tests.simulation.fleet import Fleet
    from tests.simulation.stage import Stage


class Oracle:
    """Judges one history."""

    def __init__(self, life: Stage) -> None:
        self.life = life
        self.violations: list[Violation] = []
        self.exercised: Counter[str] = Counter()
        self.books: dict[str, Book] = {}
        self.pauses: dict[str, float] = {}  # scope -> when it was sure
        self.tokens: dict[str, str] = {}  # what a stranger wrote -> address it was written to
        self.corrections: list[tuple[float, str, float]] = []  # when, address, when it had drifted
        self.approved_at = -1.0
        self.is_resting = False
        self.jumps: list[float] = []
        self.healthy_from: dict[str, float] = {}
        self.allowed_deletes: set[str] = set()
        self.undo_wanted: dict[str, dict[str, Any]] = {}
        self.needles: dict[str, str] = {}  # secret -> what it is
        self.last_check: dict[str, str] = {}

    # --- means --------------------------------------------------------------------------------------------------------

    @property
    def world(self) -> World:
        """Return the truth."""
        return self.life.world

    @property
    def fleet(self) -> Fleet:
        """Return what is declared."""
        return self.life.fleet

    @property
    def now(self) -> float:
        """Return the true time."""
        return self.life.kernel.elapsed

    def book(self, resource: Resource) -> Book:
        """Return what is remembered of a resource."""
        return self.books.setdefault(resource.address, Book())

    def bound(self, resource: Resource) -> Thing | None:
        """Return the thing that a resource is about."""
        return truth.bound(self.world, resource)

    def hidden(self, resource: Resource) -> tuple[str, ...]:
        """Return the fields that the service never shows."""
        return KINDS[resource.kind].hidden

    def holds(self, promise: str, is_kept: bool, address: str = "", expected: str = "", seen: str = "") -> None:
        """Count a check of a promise, and note it if it was broken."""
        assert promise in PROMISES, promise
        self.exercised[promise] += 1
        if not is_kept:
            violation = Violation(promise, self.now, self.life.number, address, expected, seen)
            self.violations.append(violation)
            self.life.story.broken(violation)

    def resource_of(self, thing: Thing) -> Resource | None:
        """Return the declared resource that a thing is of."""
        for resource in self.fleet.resources:
            is_known = resource.name == thing.name or thing.ident == str((resource.imports or {}).get("id", ""))
            if is_known and resource.connection == thing.api and resource.kind == thing.kind.name:
                return resource
        return None

    # --- what people do -----------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Take note of what is declared at first."""
        for resource in self.fleet.resources:
            book = self.book(resource)
            book.imported = resource.imports is not None
            for path, value in leaves(resource.spec).items():
                book.versions[path] = [value]
        for name, value in self.fleet.environment.items():
            self.needles[value] = name

    def edited(self, resource: Resource, path: str, value: Any) -> None:
        """Take note of an edit of a declaration."""
        book = self.book(resource)
        book.versions.setdefault(path, []).append(value)
        if path not in book.waived:
            book.suppressed.discard(path)
        book.undone.discard(path)

    def previous(self, resource: Resource, path: str) -> Any:
        """Return what was declared before the last edit."""
        values = self.book(resource).versions.get(path, [])
        return values[-2] if len(values) > 1 else None

    def policy_changed(self, resource: Resource) -> None:
        """Take note of another management policy."""
        self.book(resource).policy_was = "changed"

    def undeclared(self, resource: Resource) -> None:
        """Take note of a declaration that was taken out."""
        self.book(resource).undeclared_at = self.now

    def declared_again(self, resource: Resource) -> None:
        """Take note of a declaration that came back."""
        self.book(resource).undeclared_at = None

    def project_changed(self) -> None:
        """Limits are read from the fleet whenever they are asked; from now on every send is judged by them."""
        if self.fleet.project.get("corrections", {}).get("windows"):
            self.holds("freeze-holds-every-send", True)

    def drifted_at_once(self) -> None:
        """Take note of mass drift: from now on every correction is judged by it."""
        self.holds("mass-drift-held", True)

    def paused(self, process: Process, scope: str, extra: str) -> None:
        """Take note of a pause."""
        outputs.paused(self, process, scope, extra)

    def resumed(self, process: Process, scope: str, extra: str) -> None:
        """Take note of the end of a pause."""
        outputs.resumed(self, process, scope, extra)

    def approved(self, process: Process) -> None:
        """Take note of a yes to everything."""
        if process.code == 0:
            self.approved_at = self.now

    def decided(self, verb: str, resource: Resource, path: str, value: Any, process: Process) -> None:
        """Take note of what a person decided about a difference."""
        if process.code != 0:
            return
        book = self.book(resource)
        if verb in ("baseline", "waive"):
            book.suppressed.add(path)
        if verb == "baseline":
            book.accepted[path] = value
        if verb == "waive":
            book.waived.add(path)
        if verb == "accept":
            book.versions.setdefault(path, []).append(value)
            self.tokens.pop(str(value), None)
        if verb == "revert":
            book.undone.discard(path)
            book.contended.pop(path, None)

    def undoing(self, resource: Resource, correction: dict[str, Any]) -> None:
        """Take note of an undo that is about to be tried."""
        self.undo_wanted[resource.name] = correction
        self.book(resource).undone |= {path["path"] for path in correction["paths"]}

    def undone(self, resource: Resource, correction: dict[str, Any], process: Process) -> None:
        """See how an undo ended."""
        outputs.undone(self, resource, correction, process)

    def deleting(self, names: list[str]) -> None:
        """Take note of what a person is about to delete."""
        self.allowed_deletes |= set(names)

    def deleted(self, process: Process, names: list[str]) -> None:
        """See how a deletion ended."""
        outputs.deleted(self, process, names)

    # --- what strangers and clocks do ---------------------------------------------------------------------------------

    def stranger(self, thing: Thing, path: str, value: Any) -> None:
        """Take note of a stranger's edit, and of how soon it must be found."""
        resource = self.resource_of(thing)
        if resource is None:
            return
        self.tokens[str(value)] = resource.address
        sends.note_stranger(self, resource, thing, path)
        self._must_be_found(resource, thing)

    def stranger_deleted(self, thing: Thing) -> None:
        """Take note of a deletion by a stranger."""
        resource = self.resource_of(thing)
        if resource is not None:
            self._must_be_found(resource, thing)

    def contended(self, thing: Thing, path: str) -> None:
        """Take note of another controller."""
        resource = self.resource_of(thing)
        if resource is not None:
            self.book(resource).contended.setdefault(path, 0)

    def clock_jumped(self, seconds: float) -> None:
        """Take note of a jump."""
        self.jumps.append(seconds)

    def _must_be_found(self, resource: Resource, thing: Thing) -> None:
        resting.must_be_found(self, resource, thing)

    # --- what Holdfast does -------------------------------------------------------------------------------------------

    def started(self, process: Process) -> None:
        """A command begins."""

    def finished(self, process: Process) -> None:
        """A command has ended, or was killed."""
        outputs.finished(self, process)

    def on_sent(self, sent: Sent) -> None:
        """Judge a request that reached an API."""
        if sent.is_write:
            sends.judge(self, sent)

    def snapshot(self) -> tuple[int, dict[str, set[str] | None]]:
        """Return what is true before a check."""
        right = {item.address: truth.verdicts(self, item) for item in self.fleet.declared}
        return len(self.world.journal), right

    def checked(self, process: Process, before: tuple[int, dict[str, set[str] | None]], *, quiet: bool) -> None:
        """Compare what a check said with what is true."""
        outputs.checked(self, process, before, quiet=quiet)

    def printed(self, process: Process) -> None:
        """Judge what was printed for a person."""
        outputs.printed(self, process)

    def status(self, body: Any) -> None:
        """Judge what is remembered."""
        outputs.status(self, body)

    def contentions(self, body: Any) -> None:
        """Judge what is said of contention."""
        outputs.contentions(self, body)

    def asked_now(self, process: Process) -> None:
        """Take note of a request for a check."""

    def joined(self, resource: Resource, path: str, process: Process) -> None:
        """Judge whether a stranger's key is told of."""
        outputs.joined(self, resource, path, process)

    def requests_handled(self, body: Any) -> None:
        """Judge whether the checks that were asked for were done."""
        outputs.requests_handled(self, body)

    def corrections_closed(self, body: Any) -> None:
        """Judge whether something is still open."""
        outputs.corrections_closed(self, body)

    def decisions(self, body: Any) -> None:
        """Judge what is told as decided."""
        outputs.decisions(self, body)

    def must_be_own(self, resource: Resource, path: str) -> None:
        """Judge whether a stranger's edit was reverted after edits of a person."""
        outputs.must_be_own(self, resource, path)

    def after_step(self, step: Step) -> None:
        """Look around after a step."""

    def rested(self) -> None:
        """Everybody has rested: everything must be as declared."""
        resting.rested(self)

    def nothing_open(self, body: Any) -> None:
        """Judge what is still open when everybody has rested."""
        outputs.nothing_open(self, body)

    def idle(self, process: Process) -> None:
        """A run over what is at rest."""
        resting.idle(self, process)

    def audited(self, process: Process) -> None:
        """The chain was verified."""
        resting.audited(self, process)

    def before_rest(self) -> None:
        """Judge what must not have happened so far."""
        resting.before_rest(self)

    def at_end(self) -> None:
        """Judge the whole."""
        resting.at_end(self)


__all__ = ["PROMISES", "Oracle"]
