/** The history of the demo: some days of a small web shop with a few flaky tests. */
import { createHash } from "node:crypto";
import browser from "../../../fixtures/demo/browser.xml" with { type: "text" };
import browserSlowPayment from "../../../fixtures/demo/browser_slow_payment.xml" with {
  type: "text",
};
import browserUnsorted from "../../../fixtures/demo/browser_unsorted.xml" with { type: "text" };
import coverage from "../../../fixtures/demo/coverage.lcov" with { type: "text" };
import unit from "../../../fixtures/demo/unit.xml" with { type: "text" };
import unitMailLate from "../../../fixtures/demo/unit_mail_late.xml" with { type: "text" };
import unitStockRace from "../../../fixtures/demo/unit_stock_race.xml" with { type: "text" };
import unitVoucherBug from "../../../fixtures/demo/unit_voucher_bug.xml" with { type: "text" };
import type { TestIdentity } from "../../base/identity.ts";

/** The example's names. */
export const DEMO = { organization: "acme", repository: { owner: "acme", name: "web-shop" } };

/** Report files by name. */
export const DEMO_FILES = {
  "browser.xml": browser,
  "browser_slow_payment.xml": browserSlowPayment,
  "browser_unsorted.xml": browserUnsorted,
  "coverage.lcov": coverage,
  "unit.xml": unit,
  "unit_mail_late.xml": unitMailLate,
  "unit_stock_race.xml": unitStockRace,
  "unit_voucher_bug.xml": unitVoucherBug,
};

type DemoFile = keyof typeof DEMO_FILES;

export interface DemoRun {
  /** Seconds before now. */
  age: number;
  commitOid: string;
  branch: string;
  reports: DemoFile[];
  coverage: DemoFile[];
}

/** The test of the demo's third curl line. */
export const FLAKIEST_TEST: TestIdentity = {
  suite: "checkout",
  class: "shop.browser.Checkout",
  name: "pays with a saved card",
  file: "browser/checkout_test.ts",
};

export const QUARANTINED_TEST: TestIdentity = {
  suite: "mail",
  class: "shop.mail.ReceiptTest",
  name: "sends a receipt after payment",
  file: "src/mail/receipt_test.ts",
};

const HOUR = 3600;

/** All runs, oldest first: several commits, one with a real bug, some run twice. */
export const DEMO_RUNS: DemoRun[] = [
  run(150, "delivery costs", "main", "unit.xml", "browser.xml"),
  run(128, "vouchers", "vouchers", "unit_voucher_bug.xml", "browser.xml"),
  run(127, "vouchers", "vouchers", "unit_voucher_bug.xml", "browser_slow_payment.xml"),
  run(122, "vouchers, fixed", "vouchers", "unit.xml", "browser.xml"),
  run(101, "vouchers, merged", "main", "unit_mail_late.xml", "browser.xml"),
  run(100, "vouchers, merged", "main", "unit.xml", "browser_slow_payment.xml"),
  run(77, "next page", "main", "unit.xml", "browser_unsorted.xml"),
  run(76, "next page", "main", "unit.xml", "browser.xml"),
  run(53, "saved cards", "main", "unit_stock_race.xml", "browser_slow_payment.xml"),
  run(52, "saved cards", "main", "unit.xml", "browser.xml"),
  run(29, "stock warning", "main", "unit.xml", "browser.xml"),
  run(6, "receipts", "main", "unit_mail_late.xml", "browser_slow_payment.xml"),
  run(5, "receipts", "main", "unit.xml", "browser.xml", ["coverage.lcov"]),
];

function run(
  hoursAgo: number,
  change: string,
  branch: string,
  unitReport: DemoFile,
  browserReport: DemoFile,
  coverage: DemoFile[] = [],
): DemoRun {
  return {
    age: hoursAgo * HOUR,
    commitOid: createHash("sha1").update(change).digest("hex"),
    branch,
    reports: [unitReport, browserReport],
    coverage,
  };
}
