/**
 * A client as its authors wrote it for the newest version of the earlier service. It knows nothing of
 * this project: only the base address and the token are its own.
 */

/** Requests for failed tests that it sends at the same time. */
export const REQUESTS_AT_ONCE = 6;

/** Submissions whose failed tests it reads. */
export const SUBMISSIONS = 10;

const INCLUDE = "tags,disruptiveness_ratio,nondeterministic_negative_result_count," +
  "nondeterminism_first_recorded_at,recent_nondeterministic_negative_result,pass_rate," +
  "avg_duration_ms,quarantine_reason,quarantine_owner,quarantine_expires_at";

// deno-lint-ignore no-explicit-any -- it has no types for what it reads
type Json = any;

/** What it shows of a repository. */
export interface RepositoryReport {
  id: string;
  full_name: string;
  url: string;
  /** The latest, each with its failed attempts. */
  submissions: Json[];
  /** The flaky tests, each with its `history`, `runs`, `failures` and `details`. */
  tests: Json[];
  flakiness: number | null;
  coverage: number | null;
}

/** What it shows of the first organization. */
export interface OrganizationReport {
  organization: { id: string; name: string; slug: string };
  repositories: RepositoryReport[];
}

/** Reads everything that it shows. */
export async function readOrganization(
  baseUrl: string,
  token: string,
): Promise<OrganizationReport> {
  const headers = { authorization: `Bearer ${token}` };

  async function get(path: string, query: Record<string, string> = {}): Promise<Response> {
    const response = await fetch(`${baseUrl}${path}?${new URLSearchParams(query)}`, { headers });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response;
  }

  const { organizations: [organization] } = await (await get("/api/me/organizations")).json();
  const organization_id = organization.id;

  async function getJson(path: string, query: Record<string, string> = {}): Promise<Json> {
    return await (await get(path, { organization_id, ...query })).json();
  }

  /** All items of a list, over its pages. */
  async function getAll(path: string, key: string, query: Record<string, string>): Promise<Json[]> {
    const items: Json[] = [];
    let after = "";
    do {
      const page = await getJson(path, { ...query, limit: "100", ...after && { after } });
      items.push(...page[key]);
      after = page.metadata.after ?? "";
    } while (after !== "");
    return items;
  }

  async function percentage(kind: string, repository: string): Promise<number | null> {
    const badge = await get(`/api/v1/${kind}/badges`, { organization_id, repository });
    const match = />(\d+(?:\.\d+)?)%</.exec(await badge.text());
    return match ? Number(match[1]) : null;
  }

  async function readTest(test: Json): Promise<Json> {
    const path = `/api/tests/${test.id}`;
    return {
      ...test,
      history: (await getJson(`${path}/results`)).results,
      details: await getJson(path),
      runs: await getAll(`${path}/runs`, "runs", {}),
      failures: (await getJson(`${path}/failures`)).failures,
    };
  }

  async function readRepository({ id, full_name, url }: Json): Promise<RepositoryReport> {
    const slash = full_name.lastIndexOf("/");
    const [owner, name] = [full_name.slice(0, slash), full_name.slice(slash + 1)]
      .map(encodeURIComponent);
    const path = `/api/repos/${owner}/${name}/submissions`;
    const { submissions } = await getJson(path, { limit: String(SUBMISSIONS) });
    const read: Json[] = [];
    for (let at = 0; at < submissions.length; at += REQUESTS_AT_ONCE) {
      const some = submissions.slice(at, at + REQUESTS_AT_ONCE);
      read.push(
        ...await Promise.all(some.map(async (submission: Json) => ({
          ...submission,
          // Without an id the earlier service has no such list, and there is nothing to show.
          failed: submission.id
            ? await getAll(`${path}/${submission.id}/tests`, "tests", { status: "failed" })
            : [],
        }))),
      );
    }
    const tests = await getAll("/api/v1/flaky/tests", "tests", {
      repository: full_name,
      repository_id: id,
      quarantine: "false",
      include: INCLUDE,
    });
    return {
      id,
      full_name,
      url,
      submissions: read,
      tests: await Promise.all(tests.map(readTest)),
      flakiness: await percentage("flaky", full_name),
      coverage: await percentage("coverage", full_name),
    };
  }

  const { repositories } = await getJson("/api/me/repositories");
  const reports: RepositoryReport[] = [];
  for (const repository of repositories) reports.push(await readRepository(repository));
  return { organization, repositories: reports };
}
