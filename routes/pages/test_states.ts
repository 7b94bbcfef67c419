// Tests: tests/routes/test_states_test.ts
/** The tests of a repository that are broken, or fail now and then without being run again. */
import type { loadTestStates, StoppedTest, TestInState } from "../../db/read/test_states.ts";
import { sayQuarantined } from "../../lib/analysis/quarantine.ts";
import { formatCount, plural } from "../../lib/base/text.ts";
import type { Base } from "../../lib/evidence/base_branch.ts";
import { passesNeeded } from "../../lib/evidence/calm.ts";
import { percent, sayChange, sayFailing } from "../../lib/evidence/history_said.ts";
import { sayDay } from "../../lib/evidence/said.ts";
import { emptyState, label, table } from "../../lib/html/elements.ts";
import { type Content, markup } from "../../lib/html/markup.ts";
import type { PageRequest } from "./page.ts";
import { ADD_BRANCH, linkToChanges } from "./test_history.ts";

const MAX_ROWS = 5;

type States = Awaited<ReturnType<typeof loadTestStates>>;

type StatesPage = PageRequest & {
  overview: { url: string };
  /** Of the tests of {@linkcode namedStates}, by id. */
  names: ReadonlyMap<string, { isQuarantined: boolean; quarantineEnvironment: string | null }>;
};

/** The ids of the tests that the tables name. */
export function namedStates({ tests }: States): string[] {
  return ["broken", "flaky"].flatMap((state) =>
    tests.filter((test) => test.state === state && (state === "broken" || !test.isStopped))
      .slice(0, MAX_ROWS).map(({ id }) => id)
  );
}

/** Why no test has a history, in place of the lists; nothing where the base branch has runs. */
export function noBranch(
  { base, isBaseNamed, all }: Base & { all: readonly unknown[] },
  { hasUploads }: { hasUploads: boolean },
): Content {
  if (!isBaseNamed) return emptyState(markup`No upload names its branch: ${ADD_BRANCH}.`);
  return hasUploads && all.length === 0 && emptyState(
    markup`No run on ${base}, the base branch, is stored: <code>repo set --base</code> names another.`,
  );
}

/** Nothing where no test is broken. */
export function brokenSection({ tests, base, inactiveSince }: States, page: StatesPage): Content {
  if (inactiveSince) {
    return markup`<p><b>Inactive</b>: no run on ${base} since ${page.at(inactiveSince)}, so no test
counts as broken.</p>`;
  }
  const broken = tests.filter(({ state }) => state === "broken");
  return broken.length > 0 && markup`<h2 id="broken">Broken on ${base}</h2>
${stateTable(broken, "Broken tests", page)}`;
}

/** The tests that fail without being run again, and those that stopped running; nothing where there is none. */
export function rareSections({ tests, base, stopped }: States, page: StatesPage): Content {
  const others = tests.filter(({ state, isStopped }) => state === "flaky" && !isStopped);
  return [
    others.length > 0 &&
    markup`<h2 id="intermittent">Tests that fail now and then on ${base}</h2>
<p class="soft">None of them failed and passed on the same code in the last 14 days, so the flaky tests of other lists and figures
do not include them.</p>
${stateTable(others, "Tests that fail now and then", page)}`,
    stopped.length > 0 && markup`<h2 id="stopped">Stopped running</h2>
<p class="soft">They failed on ${base}, and at least the last 20 runs of their job do not have them. Only those that passed
often enough before were calm.</p>
${stoppedTable(stopped, page)}`,
  ];
}

function stoppedTable(stopped: readonly StoppedTest[], { link, at }: PageRequest): Content {
  const rows = stopped.slice(0, MAX_ROWS).map((test) => {
    const { id, lastRunAt, passes, before } = test;
    const needed = passesNeeded(before);
    const isCalm = passes >= needed;
    const said = `${isCalm ? "calm" : "not calm"}: ${formatCount(passes)} of ${
      formatCount(needed)
    } passes`;
    return [[link.test(id, test), onPhone(said)], at(lastRunAt), said];
  });
  const more = stopped.length - rows.length;
  return markup`${
    table("Tests that stopped running", ["Test|name", "Last run|nowrap", "Before|wide"], rows)
  }${more > 0 && markup`<p>${plural(more, "more test")}.</p>`}`;
}

/** What a phone has no column for. */
function onPhone(said: Content): Content {
  return markup` <small class="narrow">${said}</small>`;
}

function stateTable(
  tests: readonly TestInState[],
  caption: string,
  { link, overview, names, zone }: StatesPage,
): Content {
  const rows = tests.slice(0, MAX_ROWS).map((test) => {
    const { id, rate, runs, failures } = test;
    const named = names.get(id);
    const since = test.since();
    const change = sayChange({ ...test, since }, (seconds) => sayDay(seconds, zone)) ||
      (test.wasAdded() ? "since it was added" : "since the first stored run");
    const failing = sayFailing(test);
    const said = [
      failing && `${failing}; `,
      linkToChanges(since, overview, change) || change,
      test.isStopped && "; stopped running",
    ];
    const counts = `${formatCount(failures)} of ${formatCount(runs)}`;
    return [
      [
        link.test(id, test),
        named?.isQuarantined === true &&
        [" ", label(sayQuarantined(named.quarantineEnvironment))],
        onPhone([counts, " ", said]),
      ],
      rate === null ? "–" : `${percent(rate)} %`,
      counts,
      said,
    ];
  });
  const more = tests.length - rows.length;
  const columns = ["Test|name", "Fails in|number", "Runs|number wide", "Since|wide"];
  return markup`${table(caption, columns, rows)}${
    more > 0 && markup`<p>${plural(more, "more test")}: <code>flaky --states</code> lists them.</p>`
  }`;
}
