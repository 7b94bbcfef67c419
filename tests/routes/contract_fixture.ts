/** An organization with some of everything that the API shows. */
import type { Database } from "../../db/connection/connect.ts";
import { createFixture, type Fixture, flaky, idOf, NOW, quarantine } from "./fixture.ts";

/** The organization, and what requests can name. */
export interface ContractFixture {
  fixture: Fixture;
  /** Of a test that is flaky and quarantined. */
  testId: string;
  /** Of a test that was never disruptive. */
  quietTestId: string;
  /** Of the latest submission of acme/shop. */
  submissionId: string;
  /** The number of acme/shop. */
  repositoryId: number;
  repositoryNumber: number;
  /** The number of acme/empty. */
  otherRepositoryNumber: number;
}

/** Twelve submissions, twelve flaky tests, coverage, quarantine, an empty repository, and twins. */
export async function createContractFixture(database: Database): Promise<ContractFixture> {
  const fixture = await createFixture(database, { name: "acme" });
  const shop = await fixture.addRepository("acme", "shop");
  let submissionId = "";
  for (let run = 0; run < 12; run++) {
    const stored = await fixture.upload(
      shop,
      [...flaky(`Ünit ${run}`), { name: "quiet" }, { name: `ok ${run}` }],
      {
        commitOid: `c${run}`,
        branch: ["main", "release/1", null][run % 3]!,
        recordedAt: NOW - 3_600 * run,
        buildUrl: run % 2 === 0 ? "" : `https://ci.example.org/runs/${run}`,
        tags: run % 3 === 0 ? ["nightly", "mail"] : [],
        coverage: run === 0 ? { coveredLineCount: 1, lineCount: 3 } : null,
      },
    );
    if (run === 0) submissionId = stored.submissionId;
  }
  const testId = idOf(shop, { name: "Ünit 0" });
  const quietTestId = idOf(shop, { name: "quiet" });
  await quarantine(database, testId, { quarantinedBy: "sam" });
  await quarantine(database, quietTestId, { quarantineType: "automatic" });
  const empty = await fixture.addRepository("acme", "empty");
  for (const owner of ["acme", "group/sub"]) {
    await fixture.upload(await fixture.addRepository(owner, "twin"), flaky("twin"));
  }
  return {
    fixture,
    testId,
    quietTestId,
    submissionId,
    repositoryId: shop.repositoryId,
    repositoryNumber: shop.repositoryNumber,
    otherRepositoryNumber: empty.repositoryNumber,
  };
}
