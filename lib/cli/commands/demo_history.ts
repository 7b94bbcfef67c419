/** The history of the demo: six weeks of a small shop with some flaky tests. */
import { createHash } from "node:crypto";
import browser from "../../../fixtures/demo/browser.xml" with { type: "text" };
import coverage from "../../../fixtures/demo/coverage.lcov" with { type: "text" };
import unit from "../../../fixtures/demo/unit.xml" with { type: "text" };
import codeowners from "../../../fixtures/demo_history/CODEOWNERS" with { type: "text" };
import history from "../../../fixtures/demo_history/history.json" with { type: "json" };
import mobileApp from "../../../fixtures/demo_history/mobile_app.xml" with { type: "text" };
import ordersCoverage from "../../../fixtures/demo_history/orders_api.lcov" with { type: "text" };
import ordersApi from "../../../fixtures/demo_history/orders_api.xml" with { type: "text" };
import type { TestIdentity } from "../../base/identity.ts";
import { readCoverage, readResults, type UploadFiles } from "../intake/read_files.ts";

/** The example's names. */
export const DEMO = { organization: "acme", repository: { owner: "acme", name: "web-shop" } };

/** The test of the demo's third curl line. */
export const FLAKIEST_TEST: TestIdentity = {
  suite: "checkout",
  class: "shop.browser.Checkout",
  name: "pays with a saved card",
  file: "browser/checkout_test.ts",
};

/** The test that is quarantined in the demo. */
export const QUARANTINED_TEST: TestIdentity = {
  suite: "mail",
  class: "shop.mail.ReceiptTest",
  name: "sends a receipt after payment",
  file: "src/mail/receipt_test.ts",
};

const FILES: Record<string, string> = {
  "browser.xml": browser,
  "coverage.lcov": coverage,
  "mobile_app.xml": mobileApp,
  "orders_api.lcov": ordersCoverage,
  "orders_api.xml": ordersApi,
  "unit.xml": unit,
};

/** All CI runs, oldest first; `age` is in seconds before now. Equal reports are read once. */
export async function* demoRuns() {
  const read = new Map<string, Promise<UploadFiles>>();
  for (const { name, reports, coverage, runs } of history.repositories) {
    for (const [hours, change, branch, failures] of runs as [number, string, string, string[]][]) {
      const key = JSON.stringify([name, failures]);
      let files = read.get(key);
      if (!files) read.set(key, files = readFiles(reports, failures, coverage));
      const commitOid = createHash("sha1").update(name + change).digest("hex");
      yield {
        repository: name,
        age: Math.round(hours * 3600),
        commitOid,
        branch,
        files: await files,
      };
    }
  }
}

type FailureName = keyof typeof history.failures;

async function readFiles(
  reports: readonly string[],
  failures: readonly string[],
  coverage: string | null,
): Promise<UploadFiles> {
  const listener = { note: () => {} };
  async function* streamed(names: readonly string[]) {
    for (const path of names) {
      const text = failures.reduce(withFailure, FILES[path]!);
      yield { path, isNamed: true, bytes: new Response(text).body! };
    }
  }
  const owners = { text: codeowners, root: "" };
  return {
    results: await readResults(streamed(reports), { codeowners: owners }, listener),
    coverage: coverage === null ? null : await readCoverage(streamed([coverage]), listener),
  };
}

/** A report in which some tests fail. */
function withFailure(report: string, failure: string): string {
  const { tests, seconds, element } = history.failures[failure as FailureName];
  return tests.reduce((text, test) => {
    const passed = new RegExp(`(<testcase [^>]*name="${test}"[^>]*) time="[^"]*"/>`);
    return text.replace(passed, (_, start) => `${start} time="${seconds}">${element}</testcase>`);
  }, report);
}
