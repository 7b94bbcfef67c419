/** A Citus cluster for single tests: a coordinator and workers, which can be stopped and started. */
import { openDatabase } from "../../db/connection/connect.ts";
import { distributeDatabase } from "../../db/schema/distribute.ts";
import { migrate } from "../../db/schema/migrate.ts";
import { joinServers } from "../database.ts";
import { installedServer, makeServer, type OwnServer, type ServerSettings } from "./postgres.ts";

/** A cluster that exists until it is removed. */
export interface Cluster {
  coordinator: OwnServer;
  workers: OwnServer[];
  remove(): Promise<void>;
}

/** Whether Citus is installed for the newest PostgreSQL server. */
export async function hasCitus(): Promise<boolean> {
  const version = installedServer()?.match(/\d+/)?.[0];
  try {
    await Deno.stat(`/usr/share/postgresql/${version}/extension/citus.control`);
    return true;
  } catch {
    return false;
  }
}

/** Starts a cluster whose database has the program's schema, distributed. */
export async function makeCluster(
  workerCount: number,
  settings: ServerSettings = {},
): Promise<Cluster> {
  const servers = await Promise.all(
    Array.from({ length: workerCount + 1 }, () =>
      makeServer({
        shared_preload_libraries: "citus",
        max_prepared_transactions: "100",
        max_worker_processes: "16",
        wal_level: "logical",
        ...settings,
      })),
  );
  const [coordinator, ...workers] = servers as [OwnServer, ...OwnServer[]];
  const remove = async () => {
    for (const server of servers) await server.remove();
  };
  try {
    await joinServers(coordinator.url, workers.map(({ url }) => url));
    const { sql, close } = await openDatabase({ databaseUrl: coordinator.url, dataDir: "" });
    await migrate(sql);
    await distributeDatabase(sql);
    await close();
    return { coordinator, workers, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}
