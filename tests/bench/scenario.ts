/** The database that is measured: one large repository beside 200 smaller ones. */
import { type Database, openDatabase } from "../../db/connect.ts";
import { migrate } from "../../db/migrate.ts";
import { createOrganization, type Organization } from "../../db/organizations.ts";
import { addQuarantine, findTest } from "../../db/quarantine.ts";
import { insertToken } from "../../db/tokens.ts";
import { loadTrackedTests } from "../../db/tracked_tests.ts";
import { parseTestId } from "../../lib/identity.ts";
import { WINDOW_SECONDS } from "../../lib/timestamp.ts";
import { makeToken } from "../../lib/token.ts";
import { generateRepository, type HistoryShape } from "./generate.ts";

/** A filled database and how to ask for what is in it. */
export interface Scenario {
  databaseUrl: string;
  organization: Organization;
  token: string;
  /** One path for each data endpoint, by name. */
  endpoints: Record<string, string>;
  /** Results of all repositories together. */
  resultCount: number;
}

const TESTS = 20_000;
const BUILDS = 1_000;
const DISRUPTIVE_TESTS = 2_000;
const DISRUPTIONS = 50_000;
const SMALL_REPOSITORIES = 200;
const QUARANTINED_TESTS = 50;
const DAYS = 14;

/** Fills an empty database so that it holds about `resultCount` results of the last two weeks. */
export async function fill(
  databaseUrl: string,
  { resultCount, report }: { resultCount: number; report: (line: string) => void },
): Promise<Scenario> {
  const database = await openDatabase({ databaseUrl, dataDir: "" });
  const { sql } = database;
  try {
    await migrate(sql);
    const until = Math.floor(Date.now() / 1000);
    const organization = await createOrganization(sql, {
      name: "bench",
      purchaseUnitCount: 0,
      createdAt: until,
    });
    if (!organization) throw new Error("expected an empty database");
    const token = makeToken("api_token");
    await insertToken(sql, {
      organizationId: organization.organizationId,
      type: token.type,
      hash: token.hash,
      tokenPrefix: token.prefix,
      label: null,
      createdAt: until,
      expiresAt: null,
    });
    const shape: HistoryShape = {
      seed: 1,
      testCount: TESTS,
      buildCount: BUILDS,
      testsPerBuild: Math.min(TESTS, Math.round((resultCount * 0.9) / BUILDS)),
      disruptiveTestCount: DISRUPTIVE_TESTS,
      disruptionCount: DISRUPTIONS,
      until,
      days: DAYS,
    };
    const large = await generateRepository(sql, {
      organization,
      owner: "acme",
      name: "shop",
      shape,
    });
    report(`acme/shop: ${large.resultCount} results`);
    let total = large.resultCount;
    for (let number = 0; number < SMALL_REPOSITORIES; number++) {
      const small = await generateRepository(sql, {
        organization,
        owner: "acme",
        name: `service-${number}`,
        shape: {
          ...shape,
          seed: number + 2,
          testCount: 100,
          buildCount: 10,
          testsPerBuild: 100,
          disruptiveTestCount: 5,
          disruptionCount: 20,
        },
      });
      total += small.resultCount;
    }
    const { repositoryId } = large.repository;
    await quarantineSome(sql, repositoryId, until);
    await sql`analyze`;
    const tests = await loadTrackedTests(sql, {
      repositoryIds: [repositoryId],
      windowStart: until - WINDOW_SECONDS,
    });
    report(`${total} results in all`);
    return {
      databaseUrl,
      organization,
      token: token.plain,
      resultCount: total,
      endpoints: {
        submissions: "/api/repos/acme/shop/submissions",
        tests: "/api/repos/acme/shop/tests",
        results: `/api/tests/${tests.get(repositoryId)![0]!.id}/results`,
        inventory: "/api/v1/flaky/tests?repository=acme/shop&quarantine=false",
        quarantined: "/api/v1/flaky/tests?repository=acme/shop&include=disruptiveness_ratio,tags",
        flakiness_badge: "/api/v1/flaky/badges?repository=acme/shop",
        coverage_badge: "/api/v1/coverage/badges?repository=acme/shop",
      },
    };
  } finally {
    await database.close();
  }
}

async function quarantineSome(
  sql: Database["sql"],
  repositoryId: number,
  now: number,
): Promise<void> {
  const tests = await loadTrackedTests(sql, {
    repositoryIds: [repositoryId],
    windowStart: now - WINDOW_SECONDS,
  });
  for (const { id } of tests.get(repositoryId)!.slice(0, QUARANTINED_TESTS)) {
    const test = await findTest(sql, parseTestId(id)!);
    await addQuarantine(sql, test!, {
      quarantinedAt: now,
      quarantinedBy: null,
      quarantineType: "manual",
    });
  }
}
