/** An organization of many repositories, small enough to be filled within a minute. */
import { openDatabase } from "../../../db/connection/connect.ts";
import { migrate } from "../../../db/schema/migrate.ts";
import { createCaller } from "./callers.ts";
import { runJobs } from "./fill.ts";

/** The organization and how to ask for it. */
export interface SmallOrganization {
  databaseUrl: string;
  token: string;
  /** First page of the disruptive tests of each repository. */
  paths: string[];
}

const REPOSITORIES = 200;
const TESTS = 1_000;
const BUILDS = 10;
const DISRUPTIVE_TESTS = 50;
const DISRUPTIONS = 200;

/** Fills an empty database: 200 repositories of 1,000 tests, of which 50 are disruptive. */
export async function fillSmallOrganization(
  databaseUrl: string,
  report: (line: string) => void,
): Promise<SmallOrganization> {
  const until = Math.floor(Date.now() / 1000);
  const { sql, close } = await openDatabase({ databaseUrl, dataDir: "" });
  try {
    await migrate(sql);
    const { organization, token } = await createCaller(sql, { name: "acme", createdAt: until });
    const names = Array.from({ length: REPOSITORIES }, (_, number) => `service-${number}`);
    await runJobs(
      names.map((name, number) => ({
        databaseUrl,
        organization,
        owner: "acme",
        name,
        part: "all",
        shape: {
          seed: number,
          testCount: TESTS,
          buildCount: BUILDS,
          shardCount: 1,
          disruptiveTestCount: DISRUPTIVE_TESTS,
          disruptionCount: DISRUPTIONS,
          from: until - 10 * 86_400,
          until,
        },
      })),
      { expected: REPOSITORIES * TESTS * BUILDS, report },
    );
    await sql`analyze`;
    return {
      databaseUrl,
      token,
      paths: names.map((name) => `/api/repos/acme/${name}/tests`),
    };
  } finally {
    await close();
  }
}
