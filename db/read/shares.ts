// Tests: tests/db/read/shares_test.ts
/** How often evidence was right: what became of the failures whose truth has come out. */
import { firstSubmissionId, recordedAtOf } from "../../lib/base/identity.ts";
import { SECONDS_PER_DAY } from "../../lib/base/time.ts";
import type { Finding } from "../../lib/evidence/evidence.ts";
import { type Share, SHARE_DAYS, shareOf, type TruthCounts } from "../../lib/evidence/shares.ts";
import { arrayOf, type Fragment, type Queryable } from "../connection/sql.ts";
import { countsInShare, PERIOD_SECONDS } from "./fragments.ts";

interface ShareOptions {
  repositoryId: number;
  isOnBase: boolean;
  /** Of the run, in seconds since 1970. */
  moment: number;
  /** Its id if it is stored: shares are those from before. */
  submissionId: string | null;
}

/** Shares, from the failures whose truth has come out, loaded once and only where they are needed. */
export class Shares {
  readonly #sql: Queryable;
  readonly #options: ShareOptions;
  #repository: Promise<TruthCounts[]> | undefined;
  #organization: Promise<TruthCounts[]> | undefined;

  constructor(sql: Queryable, options: ShareOptions) {
    this.#sql = sql;
    this.#options = options;
  }

  /** What became of the repository's own failures. */
  async ofRepository(): Promise<TruthCounts[]> {
    return await (this.#repository ??= this.#count([this.#options.repositoryId]));
  }

  /** The share for each finding. */
  async load(
    findings: readonly Finding[],
  ): Promise<(finding: Pick<Finding, "evidence">) => Share | null> {
    if (findings.length === 0) return () => null;
    const { isOnBase } = this.#options;
    const repository = await this.ofRepository();
    const isKnown = ({ evidence }: Pick<Finding, "evidence">) =>
      evidence === "outage" ||
      shareOf(evidence, { isOnBase, repository, organization: [] })?.from === "repository";
    const organization = findings.every(isKnown)
      ? []
      : await (this.#organization ??= this.#countOrganization());
    return ({ evidence }) => shareOf(evidence, { isOnBase, repository, organization });
  }

  async #countOrganization(): Promise<TruthCounts[]> {
    const { repositoryId } = this.#options;
    const rows = await this.#sql<{ repositoryId: number }[]>`
      select o.repository_id::float8 as "repositoryId"
      from repository r join repository o on o.organization_id = r.organization_id
      where r.repository_id = ${repositoryId}`;
    return rows.length > 1 ? await this.#count(rows.map((one) => one.repositoryId)) : [];
  }

  async #count(repositoryIds: number[]): Promise<TruthCounts[]> {
    const { moment, submissionId } = this.#options;
    const since = moment - SHARE_DAYS * SECONDS_PER_DAY;
    return await loadTruthCounts(this.#sql, { repositoryIds, since, until: moment, submissionId });
  }
}

/**
 * What became of the failures that were recorded within some time; repeats and outages do not count. Whole periods
 * are counted already. Failures of the first period are added, and failures of the last one that were recorded later
 * are subtracted: there are few, because most uploads are the latest.
 */
async function loadTruthCounts(
  sql: Queryable,
  { repositoryIds, since, until, submissionId }: {
    repositoryIds: number[];
    since: number;
    until: number;
    /** Left out, because a part of it may be stored already. */
    submissionId: string | null;
  },
): Promise<TruthCounts[]> {
  const first = Math.floor(since / PERIOD_SECONDS);
  const last = Math.floor(until / PERIOD_SECONDS);
  const isOfRepository = sql`repository_id = any(${arrayOf(repositoryIds)}::bigint[])`;
  const startOf = (seconds: number) => sql`decode(${firstSubmissionId(seconds)}, 'hex')`;
  const endOf = (period: number) => startOf((period + 1) * PERIOD_SECONDS);
  const recordedAt = submissionId === null ? null : recordedAtOf(submissionId);
  const isOwn = recordedAt !== null && recordedAt >= since && recordedAt <= until
    ? sql`submission_id = decode(${submissionId}, 'hex')`
    : sql`false`;
  const failures = (isWithin: Fragment, sign: 1 | -1) =>
    sql`(
    select evidence, is_on_base, ${sign} * (truth = 'not_the_change')::int as not_the_change,
      ${sign} * (truth = 'the_change')::int as the_change
    from failure_evidence
    where ${isOfRepository} and ${countsInShare(sql)} and ${isWithin})`;
  return await sql<TruthCounts[]>`
    select evidence, is_on_base as "isOnBase", sum(not_the_change)::int as "notTheChange",
      sum(the_change)::int as "theChange"
    from (
      ${failures(sql`submission_id >= ${startOf(since)} and submission_id < ${endOf(first)}`, 1)}
      union all
      select evidence, is_on_base, not_the_change, the_change from truth_count
      where ${isOfRepository} and period > ${first} and period <= ${last}
      union all
      ${
    failures(sql`submission_id >= ${startOf(until + 1)} and submission_id < ${endOf(last)}`, -1)
  }
      union all
      ${failures(isOwn, -1)}
    ) c
    group by evidence, is_on_base
    having sum(not_the_change) + sum(the_change) > 0`;
}
