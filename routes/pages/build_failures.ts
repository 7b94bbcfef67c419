// Tests: tests/routes/build_page_test.ts
/** The failures of a build, grouped by blame, with the reason and text of each. */
import type { BuildFailure } from "../../db/read/build_failures.ts";
import { loadKnownCauses } from "../../db/read/causes.ts";
import type { ConclusionsOfTests, ShownConclusion } from "../../db/read/conclusions.ts";
import { loadTexts } from "../../db/read/texts.ts";
import { sayMessage } from "../../lib/analysis/cause_details.ts";
import type { FailureText } from "../../lib/analysis/failure_texts.ts";
import { compareVerdicts, NEW_CAUSE, type Verdict, verdictOf } from "../../lib/analysis/verdict.ts";
import { parseTestId } from "../../lib/base/identity.ts";
import type { RepositoryName } from "../../lib/base/repository_name.ts";
import { plural } from "../../lib/base/text.ts";
import { sayConclusion, sayDay, sayFlakyElsewhere } from "../../lib/evidence/said.ts";
import { type Blame, BLAMES } from "../../lib/evidence/shares.ts";
import { isKnownForAll } from "../../lib/gate/rule.ts";
import { glyph } from "../../lib/html/charts.ts";
import { label, stackTrace } from "../../lib/html/elements.ts";
import { type Content, type Markup, markup } from "../../lib/html/markup.ts";
import { type PageRequest, placeOf, someTests } from "./page.ts";

/** Maximum number of failed tests that are shown with their texts. */
const MAX_SHOWN = 100;

type ShownVerdict = Verdict | typeof NEW_CAUSE;

/** A failed test with its verdict and the conclusion on it. */
export type JudgedFailure = BuildFailure & {
  verdict: ShownVerdict;
  conclusion: ShownConclusion | undefined;
};

const FLAKY = "failed and passed on the same code in the last 14 days";

const ADVICE: Record<ShownVerdict, string> = {
  [NEW_CAUSE]: "it is not known for this cause, so the gate does not excuse it",
  quarantined: "the gate excuses it",
  flaky: `${FLAKY}, on any branch`,
  known: "also failed on the base branch",
  new: "neither flaky nor failing on the base branch",
};

export async function withVerdicts(
  { load, loadTests }: PageRequest,
  failed: readonly BuildFailure[],
  { conclusions, environmentOf }: {
    conclusions: ReadonlyMap<string, ConclusionsOfTests>;
    /** By submission. */
    environmentOf: ReadonlyMap<string, string>;
  },
): Promise<JudgedFailure[]> {
  if (failed.length === 0) return [];
  const { tests } = await loadTests();
  const tracked = new Map(tests.map((test) => [test.id, test]));
  const judged = failed.map((failure): JudgedFailure => {
    const { testId, testNo } = failure;
    const conclusionIn = (submissionId: string) => conclusions.get(submissionId)?.get(testNo);
    const conclusion = conclusionIn(failure.submissionId);
    // The gate of each environment must excuse it.
    const places = failure.failedIn.length > 0 ? failure.failedIn : [failure];
    const [verdict] = places.map(({ submissionId }) =>
      verdictOf(tracked.get(testId), {
        environment: environmentOf.get(submissionId) ?? "",
        hasFailedOnBase: (conclusionIn(submissionId) ?? conclusion)?.isKnownOnBase === true,
      })
    ).sort(compareVerdicts);
    return { ...failure, conclusion, verdict: verdict! };
  });
  const quarantined = judged.filter(({ verdict }) => verdict === "quarantined");
  // The causes of a test may take 10 ms. The gate excuses this many failures only with `--max-excused`.
  if (quarantined.length === 0 || quarantined.length > MAX_SHOWN) return judged;
  const hashOf = ({ testId }: BuildFailure) => parseTestId(testId)!.testHash;
  const causes = await load(loadKnownCauses, { testHashes: quarantined.map(hashOf) });
  for (const failure of quarantined) {
    const known = causes.get(hashOf(failure)) ?? [];
    if (!isKnownForAll(failure.causes, known)) failure.verdict = NEW_CAUSE;
  }
  return judged;
}

/** Failed tests: those that are probably due to the change first. */
export async function failedTests(
  failed: readonly JudgedFailure[],
  baseBranch: string,
  page: JudgedPage,
): Promise<Markup> {
  const byVerdict = Map.groupBy(failed, ({ verdict }) => verdict);
  const summary = [...byVerdict].sort(([a], [b]) => compareVerdicts(a, b)).map(([verdict, own]) =>
    markup`<li><b>${own.length} ${verdict}</b>: ${ADVICE[verdict]}</li>`
  );
  const rankOf = ({ conclusion }: JudgedFailure) =>
    conclusion ? BLAMES.indexOf(conclusion.blame) : BLAMES.length;
  const list = failed.toSorted((a, b) =>
    rankOf(b) - rankOf(a) || compareVerdicts(a.verdict, b.verdict)
  ).map((test) => ({
    ...test,
    advice: flakyAdvice(test, baseBranch),
    said: said(test, baseBranch, page),
  }));
  const { shown, moreCount } = await shownTests(list, page, { isFirstOpen: true });
  const byBlame = Map.groupBy(shown, ({ first }) => first.conclusion?.blame ?? "unknown");
  const sections = [...byBlame].map(([blame, own], index) => {
    const content = own.map(({ markup }) => markup);
    if (index === 0) return markup`<h2>${BLAME_TITLES[blame]}</h2>${content}`;
    const count = own.reduce((sum, { testCount }) => sum + testCount, 0);
    return markup`<details class="others"><summary>${BLAME_TITLES[blame]}: ${
      plural(count, "test")
    }</summary>${content}</details>`;
  });
  return markup`${sections}${moreTests(moreCount)}
<p class="soft">The gate counts them as:</p>
<ul class="soft">${summary}</ul>`;
}

/** What is said of a flaky test instead of {@linkcode ADVICE}, where the conclusion could contradict it. */
function flakyAdvice({ verdict, conclusion }: JudgedFailure, base: string): string | undefined {
  const elsewhere = verdict === "flaky" && conclusion && sayFlakyElsewhere(conclusion, { base });
  return elsewhere ? `${FLAKY}, ${elsewhere}` : undefined;
}

/** Headings over failures with a conclusion. */
const BLAME_TITLES: Record<Blame | "unknown", string> = {
  yours: "Probably yours",
  unclear: "Unclear",
  not_yours: "Not yours",
  unknown: "Without a conclusion",
};

/** The conclusion on a failure as a sentence. */
function said(
  { conclusion }: JudgedFailure,
  base: string,
  { zone, pathTo, repository: { owner, name } }: JudgedPage,
): Said | undefined {
  if (!conclusion) return undefined;
  const { restsOn } = conclusion;
  const lastOn = restsOn ? sayDay(restsOn.recordedAt, zone) : "";
  return {
    sentence: sayConclusion(conclusion, { base, lastOn }),
    day: lastOn && `last on ${lastOn}`,
    path: restsOn && pathTo(["repos", owner, name, "builds", restsOn.submissionId]),
  };
}

/** The sentence, in which its day leads to the build that it rests on. */
function reasonOf({ sentence, day, path }: Said): Content {
  if (!path) return sentence;
  const [before = "", ...after] = day === "" ? [sentence] : sentence.split(day);
  return after.length === 0
    ? markup`${sentence} (<a href="${path}">that build</a>)`
    : markup`${before}<a href="${path}">${day}</a>${after.join(day)}`;
}

interface Said {
  sentence: string;
  /** Where the sentence says when it failed last; `""` without a build. */
  day: string;
  /** The page of the build that it rests on; `null` without one. */
  path: Markup | null;
}

type JudgedPage = PageRequest & { repository: RepositoryName };

type ShownTest = BuildFailure & {
  verdict?: ShownVerdict;
  /** Instead of {@linkcode ADVICE}. */
  advice?: string | undefined;
  said?: Said | undefined;
  conclusion?: ShownConclusion | undefined;
};

interface ShownGroup {
  first: ShownTest;
  testCount: number;
  markup: Markup;
}

/**
 * The first tests with their texts, and how many more there are. Tests with the same text, verdict and
 * conclusion, as in an outage, are one group.
 */
async function shownTests(
  tests: readonly ShownTest[],
  page: PageRequest,
  { isFirstOpen = false } = {},
): Promise<{ shown: ShownGroup[]; moreCount: number }> {
  const keyOf = ({ textId, verdict, said }: ShownTest) => `${textId} ${verdict} ${said?.sentence}`;
  const alike = [...Map.groupBy(tests, keyOf).values()];
  const texts = await page.load(loadTexts, {
    textIds: [...new Set(alike.slice(0, MAX_SHOWN).map(([first]) => first!.textId))],
  });
  // Tests without a message may have failed for different reasons.
  const hasMessage = ({ textId }: ShownTest) => texts.get(textId)?.message !== "";
  const groups = alike.flatMap((group) =>
    hasMessage(group[0]!) ? [group] : group.map((one) => [one])
  );
  const moreCount = groups.slice(MAX_SHOWN).reduce((sum, group) => sum + group.length, 0);
  const shown = groups.slice(0, MAX_SHOWN).map((group, index): ShownGroup => {
    const options = { ...page, isOpen: isFirstOpen && index === 0 };
    const [first] = group as [ShownTest];
    const text = texts.get(first.textId);
    const markup = group.length === 1
      ? failure(first, text, options)
      : groupOf(group, text, options);
    return { first, testCount: group.length, markup };
  });
  return { shown, moreCount };
}

/** Tests that failed and passed when they were run again in the build. */
export async function retriedTests(
  retried: readonly BuildFailure[],
  page: PageRequest,
): Promise<Markup> {
  const { shown, moreCount } = await shownTests(retried, page);
  return markup`<h2>Passed after a retry</h2>
${shown.map(({ markup }) => markup)}${moreTests(moreCount)}`;
}

function moreTests(count: number): Markup | false {
  return count > 0 && markup`<p>And ${plural(count, "more test")}.</p>`;
}

type ShownPage = Pick<PageRequest, "link"> & { isOpen: boolean };

/** Tests that failed with the same text. */
function groupOf(
  tests: readonly ShownTest[],
  text: FailureText | undefined,
  { link, isOpen }: ShownPage,
): Markup {
  const [first] = tests as [ShownTest];
  const isFlaky = tests.every(({ isDisruption }) => isDisruption);
  const links = tests.slice(0, MAX_SHOWN).map((test) => link.test(test.testId, test));
  return failureRow(first, {
    name: [glyph(isFlaky ? "flaky" : "failed"), " ", `${plural(tests.length, "test")} alike`],
    details: someTests(tests.length, links, plural(tests.length, "test")),
    text,
    isOpen,
  });
}

function failure(test: ShownTest, text: FailureText | undefined, page: ShownPage): Markup {
  const place = placeOf(test);
  return failureRow(test, {
    name: [
      glyph(test.isDisruption ? "flaky" : "failed"),
      " ",
      page.link.testName(test.testId, test),
    ],
    details: String(place) !== "" && markup`<p><small>${place}</small></p>`,
    text,
    isOpen: page.isOpen,
  });
}

/** A failure: its name, verdict and the reason for it, and its message, which opens to the stack trace. */
function failureRow(
  { verdict, said, advice }: ShownTest,
  { name, details, text, isOpen }: {
    name: Content;
    details: Content;
    text: FailureText | undefined;
    isOpen: boolean;
  },
): Markup {
  return markup`<div class="cause"><p><b>${name}</b> ${verdict && label(verdict)}
${verdict && verdict !== "new" && markup`<small>${advice ?? ADVICE[verdict]}</small>`}</p>
${said && markup`<p class="reason">${reasonOf(said)}</p>`}
${
    stackTrace(
      markup`<code class="message">${text && sayMessage(text) || "without a message"}</code>`,
      {
        content: details,
        body: text?.body,
        isOpen,
      },
    )
  }</div>`;
}
