/** The route about how often conclusions on failures were right. */
import * as v from "valibot";
import { loadConclusionRecord } from "../db/read/conclusion_record.ts";
import { quote } from "../lib/base/quote.ts";
import { SECONDS_PER_DAY } from "../lib/base/time.ts";
import { EVIDENCE } from "../lib/evidence/evidence.ts";
import { SHARE_DAYS } from "../lib/evidence/shares.ts";
import * as parameters from "../lib/http/request/parameters.ts";
import { defineJsonRoute } from "../lib/http/request/route.ts";
import * as schemas from "./schemas.ts";

/** The memory of conclusions. */
const MAX_DAYS = 365;

const days = parameters.parsed(
  (text) => {
    if (text === "") return SHARE_DAYS;
    const days = /^\d{1,9}$/.test(text) ? Number(text) : 0;
    if (days >= 1 && days <= MAX_DAYS) return days;
    throw new RangeError(
      `invalid days ${quote(text)}: expected an integer from 1 to ${MAX_DAYS}`,
    );
  },
  "How many days back failures count",
  {
    jsonSchema: { type: "integer", minimum: 1, maximum: MAX_DAYS, default: SHARE_DAYS },
    example: "30",
  },
);

const score = v.pipe(v.number(), v.minValue(0), v.maxValue(1));

export const conclusions = defineJsonRoute({
  path: "/api/repos/:owner/:name/conclusions",
  operationId: "listConclusions",
  tag: "Repositories",
  summary: "How often conclusions on failures were right",
  description:
    "Failures of the last days by their evidence, on the base branch and off it, and what became of them: a " +
    "failure was not the change if the same code passed, too; it was the change, or the environment, if that code " +
    "failed in two more runs and never passed, or the test failed for one cause at three code versions in a row. " +
    "Repeats of a failure at one code version count once.",
  query: { days },
  list: { field: "conclusions" },
  schema: schemas.object("Conclusions", {
    conclusions: v.array(schemas.object("ConclusionCounts", {
      evidence: schemas.described(v.picklist(EVIDENCE), "What the failures rested on"),
      base: schemas.described(v.boolean(), "Whether they are on the base branch"),
      said: schemas.count("Failures with this evidence"),
      not_the_change: schemas.count("Of those, not due to the change"),
      the_change: schemas.count("Of those, due to the change or the environment"),
      open: schemas.count("Of those, not known yet"),
    })),
    brier: schemas.nullable(
      score,
      "Brier score: mean square error of the probabilities that were said, 0 is perfect",
    ),
    brier_base_rate: schemas.nullable(
      score,
      "The same of always saying how many failures were not the change",
    ),
    base_branch: schemas.text(
      'The base branch, "" where no upload of the last 90 days names its branch',
    ),
  }),
  resource: "repository in path",
  dependsOn: "second",
  async handler({ load, now, query: { days } }) {
    const record = await load(loadConclusionRecord, { since: now - days * SECONDS_PER_DAY });
    return {
      conclusions: record.rows.map((
        { evidence, isOnBase, said, notTheChange, theChange, open },
      ) => ({
        evidence,
        base: isOnBase,
        said,
        not_the_change: notTheChange,
        the_change: theChange,
        open,
      })),
      brier: record.brier,
      brier_base_rate: record.brierBaseRate,
      base_branch: record.isBaseNamed ? record.base : "",
    };
  },
});
