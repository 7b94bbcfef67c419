import type postgres from "postgres";

/** How often a running transaction is checked, and how long a wait must last to be reported. */
const CHECK_INTERVAL_MS = 1_000;

/** A transaction that waits for a lock, and the process that holds it. */
export interface LockWait {
  waitedMs: number;
  blockingPid: number;
  /** Such as `psql`; `""` when it gave none. */
  applicationName: string;
  /** Such as `idle in transaction`; `null` when it belongs to another user. */
  state: string | null;
  /** The first words of its latest statement, without any values. */
  statement: string;
  /** Seconds that its transaction has lasted; `null` when it belongs to another user. */
  transactionSeconds: number | null;
}

/**
 * Watches a transaction from other connections until the returned function is called. Each process
 * that it waits for is reported once. `pid` returns its server process, once it is known.
 */
export function watchLockWaits(
  sql: postgres.Sql,
  pid: () => number | undefined,
  onLockWait: (wait: LockWait) => void,
): () => void {
  const reported = new Set<number>();
  let isChecking = false;
  const check = async () => {
    const waitingPid = pid();
    if (isChecking || waitingPid === undefined) return;
    isChecking = true;
    // The server may be gone; the transaction has its own error then.
    const waits = await loadLockWaits(sql, waitingPid).catch(() => []);
    isChecking = false;
    for (const wait of waits) {
      if (!reported.has(wait.blockingPid)) onLockWait(wait);
      reported.add(wait.blockingPid);
    }
  };
  const timer = setInterval(check, CHECK_INTERVAL_MS);
  return () => clearInterval(timer);
}

async function loadLockWaits(sql: postgres.Sql, pid: number): Promise<LockWait[]> {
  return await sql<LockWait[]>`
    select (extract(epoch from clock_timestamp() - waiting.since) * 1000)::float8 as "waitedMs",
      a.pid as "blockingPid", a.application_name as "applicationName", a.state,
      regexp_replace(coalesce(substring(a.query from '^\\s*([a-zA-Z_]+(?:\\s+[a-zA-Z_]+){0,3})'), ''),
        '\\s+', ' ', 'g') as statement,
      extract(epoch from clock_timestamp() - a.xact_start)::float8 as "transactionSeconds"
    from (select min(waitstart) as since from pg_locks where pid = ${pid} and not granted) waiting
    join pg_stat_activity a on a.pid = any(pg_blocking_pids(${pid}))
    where waiting.since < clock_timestamp() - make_interval(secs => ${CHECK_INTERVAL_MS / 1000})`;
}
