// Tests: tests/db/write/evidence_test.ts
/** How often evidence was right: what became of the failures whose truth has come out. */
import { firstSubmissionId } from "../../lib/base/identity.ts";
import { SECONDS_PER_DAY } from "../../lib/base/time.ts";
import type { Finding } from "../../lib/evidence/evidence.ts";
import {
  MIN_RESOLVED,
  type Share,
  SHARE_DAYS,
  shareOf,
  type TruthCounts,
} from "../../lib/evidence/shares.ts";
import { arrayOf, type Queryable } from "../connection/sql.ts";

/** Shares, from the failures whose truth has come out, loaded once and only where they are needed. */
export class Shares {
  readonly #sql: Queryable;
  readonly #options: { repositoryId: number; isOnBase: boolean; moment: number };
  #repository: Promise<TruthCounts[]> | undefined;
  #organization: Promise<TruthCounts[]> | undefined;

  constructor(
    sql: Queryable,
    options: { repositoryId: number; isOnBase: boolean; moment: number },
  ) {
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
      repository.some((one) =>
        one.evidence === evidence && one.isOnBase === isOnBase &&
        one.notTheChange + one.theChange >= MIN_RESOLVED
      );
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
    const { moment } = this.#options;
    const since = moment - SHARE_DAYS * SECONDS_PER_DAY;
    return await loadTruthCounts(this.#sql, { repositoryIds, since, until: moment });
  }
}

/** What became of the failures that were recorded in a period; repeats and outages do not count. */
async function loadTruthCounts(
  sql: Queryable,
  { repositoryIds, since, until }: { repositoryIds: number[]; since: number; until: number },
): Promise<TruthCounts[]> {
  return await sql<TruthCounts[]>`
    select evidence, is_on_base as "isOnBase",
      count(*) filter (where truth = 'not_the_change')::int as "notTheChange",
      count(*) filter (where truth = 'the_change')::int as "theChange"
    from failure_evidence
    where repository_id = any(${arrayOf(repositoryIds)}::bigint[])
      and submission_id >= decode(${firstSubmissionId(since)}, 'hex')
      and submission_id < decode(${firstSubmissionId(until + 1)}, 'hex')
      and not is_repeat and truth is not null and evidence <> 'outage'
    group by evidence, is_on_base`;
}
