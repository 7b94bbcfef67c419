/** A fake service, and reports, for tests of the gate. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { failureCause, fingerprint } from "../../../../lib/analysis/failure_groups.ts";
import { shortTestId, testHash, testId, type TestIdentity } from "../../../../lib/base/identity.ts";
import type { QuarantinedTest } from "../../../../lib/gate/rule.ts";
import type { MassFailureRun, ServiceVerdict } from "../../../../lib/gate/summary.ts";
import { NO_CI } from "../../../no_ci.ts";
import { FAKE_TOKEN, type FakeApi, startFakeApi } from "../../api_client/fake_api.ts";

/** A test of the reports that {@linkcode reportOf} writes. */
export function testNamed(name: string): TestIdentity {
  return { suite: "shop", class: "Cart", name, file: "cart.ts" };
}

/** A JUnit report of tests by name: passed, or failed. */
export function reportOf(tests: Record<string, "passed" | "failed">): string {
  const cases = Object.entries(tests).map(([name, outcome]) =>
    `<testcase classname="Cart" name="${name}" file="cart.ts">` +
    `${outcome === "failed" ? '<failure message="expected 1, found 2"/>' : ""}</testcase>`
  );
  return `<testsuite name="shop">${cases.join("")}</testsuite>`;
}

/** What the service knows of repository acme/shop. */
export interface Known {
  /** Known for the cause of {@linkcode reportOf}, unless given; `alias`: under another identity, too. */
  quarantined: (TestIdentity & Partial<QuarantinedTest> & {
    causes?: string[];
    alias?: TestIdentity;
  })[];
  verdicts?: (TestIdentity & Partial<ServiceVerdict>)[];
  /** Of the job, and other runs. */
  earlier?: Partial<EarlierAnswer>;
}

interface EarlierAnswer {
  base_branch?: string;
  expected_test_count: number | null;
  base_test_counts: number[];
  expected_skipped_count: number | null;
  outage: { runs: MassFailureRun[] } | null;
  expected_files?: { file: string; class: string; suite?: string }[] | null;
  mass_failure?: "outage" | "together" | null;
}

/** The fingerprint of the failures of {@linkcode reportOf}. */
export const SEEN_CAUSE = fingerprint(failureCause("expected 1, found 2", ""));

/** Answers a request of the gate as the service does. */
export function answer(
  request: Request,
  { quarantined, verdicts = [], earlier }: Known,
): Response {
  const { pathname, searchParams } = new URL(request.url);
  if (request.headers.get("authorization") !== `Bearer ${FAKE_TOKEN}`) {
    return new Response(null, { status: 401 });
  }
  if (pathname === "/api/v1/flaky/tests" && searchParams.get("repository") === "acme/shop") {
    const offset = Number(searchParams.get("after") ?? 0);
    const end = offset + Number(searchParams.get("limit"));
    return Response.json({
      count: quarantined.length,
      tests: quarantined.slice(offset, end).map((test) => ({
        id: "0".repeat(24),
        quarantine_expires_at: null,
        quarantine_owner: null,
        ...test,
      })),
      metadata: { after: end < quarantined.length ? String(end) : null },
    });
  }
  if (pathname === "/api/repos/acme/shop/verdicts") {
    const asked = searchParams.get("tests")!.split(",").map((test) => test.split(":")[0]!);
    const own = quarantined.map((test) => ({ ...test, verdict: "quarantined" as const }));
    const all: (TestIdentity & Partial<ServiceVerdict> & { alias?: TestIdentity })[] = [
      ...own,
      ...verdicts,
    ];
    const isNamed = (id: string, test?: TestIdentity) =>
      test !== undefined && id === shortTestId(test);
    return Response.json({
      tests: asked.map((id) => {
        const test = all.find((test) => isNamed(id, test) || isNamed(id, test.alias));
        return {
          id: `5f3a9c0e7b1${id}`,
          ...{ suite: "", class: "", name: "", file: "" },
          verdict: "new",
          disruptiveness_ratio: 0,
          recent_nondeterministic_negative_result: null,
          recent_base_negative_result: null,
          causes: test?.verdict === "quarantined" ? [SEEN_CAUSE] : [],
          ...test
            ? { evidence: "passed_here", blame: "not_yours" }
            : { evidence: "first", blame: "yours" },
          ...test && { id: testId(0x5f3a9c0e7b1, testHash(test)) },
          ...test,
        };
      }),
      expected_test_count: null,
      base_test_counts: [],
      expected_skipped_count: null,
      outage: null,
      ...earlier,
    });
  }
  return Response.json({ message: "Not Found" }, { status: 404 });
}

/** A folder, a service and the environment to reach it; removed and closed by `close`. */
export interface GateFixture {
  folder: string;
  api: FakeApi;
  environment: Record<string, string>;
  /** Writes a file into the folder, and returns its path. */
  write(name: string, text: string): Promise<string>;
  close(): Promise<void>;
}

/** Creates a fixture; without a handler the service knows what is given. */
export async function gateFixture(
  known: Known,
  handler: (request: Request, index: number) => Response | Promise<Response> = (request) =>
    answer(request, known),
): Promise<GateFixture> {
  const folder = await mkdtemp(join(tmpdir(), "test-analytics-gate-"));
  const api = startFakeApi(handler);
  return {
    folder,
    api,
    environment: { ...NO_CI, PLATFORM_API_URL: api.url, PLATFORM_API_TOKEN: FAKE_TOKEN },
    async write(name, text) {
      const path = join(folder, name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text);
      return path;
    },
    async close() {
      await api.close();
      await rm(folder, { recursive: true });
    },
  };
}
