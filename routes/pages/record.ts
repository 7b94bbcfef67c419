// Tests: tests/routes/conclusions_test.ts
/** How often the conclusions on failures of a repository were right: a sentence, with a table behind. */
import type { loadConclusionRecord } from "../../db/read/conclusion_record.ts";
import { formatCount, plural } from "../../lib/base/text.ts";
import { EVIDENCE, type Evidence } from "../../lib/evidence/evidence.ts";
import { sayPercent } from "../../lib/evidence/said.ts";
import { PUBLISHED, SHARE_DAYS } from "../../lib/evidence/shares.ts";
import { table } from "../../lib/html/elements.ts";
import { type Markup, markup } from "../../lib/html/markup.ts";

type ConclusionRecord = Awaited<ReturnType<typeof loadConclusionRecord>>;

/** Evidence in words; the API has its keys. */
const EVIDENCE_WORDS: Readonly<Record<Evidence, string>> = {
  passed_here: "Also passed on the same code",
  fails_on_base: "Its latest run on the base branch failed the same way",
  outage: "In an outage",
  together: "Many tests failed at once, with this change alone",
  seen_elsewhere: "Failed the same way before, on the base branch or another",
  new_cause: "Failed before, but never like this",
  new_test: "New: no run on the base branch",
  first: "Never failed on the base branch",
  few: "Too few runs on the base branch",
};

const SCORE_DIGITS = 3;

/** The record of the last 90 days; before there is one, the published shares that stand in for it. */
export function recordSection(record: ConclusionRecord): Markup {
  return markup`<h2>How often the conclusions were right</h2>
<details><summary>${recordSentence(record)}</summary>
${record.rows.length > 0 && recordTable(record)}
${
    record.brier !== null &&
    markup`<p>Brier score ${record.brier.toFixed(SCORE_DIGITS)}: the mean square error of
what was said, 0 is perfect. Always saying the average would score ${
      record.brierBaseRate!.toFixed(SCORE_DIGITS)
    }.</p>`
  }
${record.brier === null && publishedTable()}
</details>`;
}

function recordSentence({ notYours, yours, unclearCount, rows }: ConclusionRecord): string {
  const resolved = notYours.of + yours.of + unclearCount;
  if (resolved === 0) {
    const said = rows.reduce((sum, row) => sum + row.said, 0);
    const what = said === 0
      ? `No test failed in the last ${SHARE_DAYS} days`
      : `Of ${
        plural(said, "failure")
      } in the last ${SHARE_DAYS} days none has shown yet whether it was the change`;
    return `${what}: until then a year of Apache Ozone stands in.`;
  }
  const parts = [
    ...notYours.of > 0
      ? [
        `${sayPercent(notYours.right, notYours.of)} % of those called not yours were not the ` +
        `change (${notYours.right} of ${notYours.of})`,
      ]
      : [],
    ...yours.of > 0
      ? [
        `${sayPercent(yours.right, yours.of)} % of those called yours were the change or the ` +
        `environment (${yours.right} of ${yours.of})`,
      ]
      : [],
    ...unclearCount > 0
      ? [`${formatCount(unclearCount)} ${unclearCount === 1 ? "was" : "were"} called unclear`]
      : [],
  ];
  return `Of ${
    plural(resolved, "failure")
  } in the last ${SHARE_DAYS} days that showed whether they were the ` +
    `change: ${parts.join("; ")}.`;
}

function recordTable({ rows, base }: ConclusionRecord): Markup {
  return table(
    "What became of failures",
    [
      "Reason|name",
      "Branch|nowrap",
      "Failures|number",
      "Not the change|number",
      "The change|number",
      "Open|number wide",
    ],
    rows.map((row) => [
      EVIDENCE_WORDS[row.evidence],
      row.isOnBase ? markup`<bdi>${base}</bdi>` : "others",
      formatCount(row.said),
      formatCount(row.notTheChange),
      formatCount(row.theChange),
      formatCount(row.open),
    ]),
  );
}

function publishedTable(): Markup {
  const rows = EVIDENCE.flatMap((evidence) => {
    const share = PUBLISHED[evidence];
    if (!share) return [];
    const percent = `${sayPercent(share.notTheChange, share.of)} %`;
    return [[
      EVIDENCE_WORDS[evidence],
      percent,
      `${share.notTheChange} of ${share.of}`,
    ]];
  });
  return markup`<p>In a year of Apache Ozone's master, June 2021 to June 2022, this share of failures for this reason
were not the change. They stand in for failures on the base branch; none are known for other branches.</p>
${
    table(
      "Shares of Apache Ozone",
      ["Reason|name", "Not the change|number", "Failures|number"],
      rows,
    )
  }`;
}
