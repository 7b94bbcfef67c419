/** An organization with some of everything that the API shows. */
import type { Database } from "../../db/connection/connect.ts";
import { createWorld, flaky, idOf, NOW, quarantine, type World } from "./fixture.ts";

/** The organization, and what can be asked for. */
export interface ContractWorld {
  world: World;
  /** Of a test that is flaky and quarantined. */
  testId: string;
  /** Of a test that never was disruptive. */
  quietTestId: string;
  /** The number of acme/shop. */
  repositoryId: number;
  /** The number of acme/empty. */
  otherRepositoryId: number;
}

/** Twelve submissions, twelve flaky tests, coverage, quarantine, an empty repository, and twins. */
export async function createContractWorld(database: Database): Promise<ContractWorld> {
  const world = await createWorld(database, { name: "acme" });
  const shop = await world.addRepository("acme", "shop");
  for (let run = 0; run < 12; run++) {
    await world.upload(shop, [...flaky(`Ünit ${run}`), { name: "quiet" }, { name: `ok ${run}` }], {
      commitOid: `c${run}`,
      recordedAt: NOW - 3_600 * run,
      buildUrl: run % 2 === 0 ? "" : `https://ci.example.org/runs/${run}`,
      tags: run % 3 === 0 ? ["nightly", "mail"] : [],
      coverage: run === 0 ? { coveredLineCount: 1, lineCount: 3 } : null,
    });
  }
  const testId = idOf(shop, { name: "Ünit 0" });
  const quietTestId = idOf(shop, { name: "quiet" });
  await quarantine(database, testId, { quarantinedBy: "sam" });
  await quarantine(database, quietTestId, { quarantineType: "automatic" });
  const empty = await world.addRepository("acme", "empty");
  for (const owner of ["acme", "group/sub"]) {
    await world.upload(await world.addRepository(owner, "twin"), flaky("twin"));
  }
  return {
    world,
    testId,
    quietTestId,
    repositoryId: shop.repositoryId,
    otherRepositoryId: empty.repositoryId,
  };
}
