import type postgres from "postgres";

/** How often a running transaction is checked, and how long a wait must last to be reported. */
const CHECK_INTERVAL_MS = 1_000;

/** Receives who holds a lock that a transaction waits for: server process, program and statement. */
export type OnLockWait = (holder: string) => void;

/**
 * Watches a transaction from other connections until the returned function is called. Each process
 * that it waits for is reported once. `pid` returns its server process, once it is known.
 */
export function watchLockWaits(
  sql: postgres.Sql,
  pid: () => number | undefined,
  onLockWait: OnLockWait,
): () => void {
  const reported = new Set<number>();
  let isChecking = false;
  const check = async () => {
    const waitingPid = pid();
    if (isChecking || waitingPid === undefined) return;
    isChecking = true;
    // The server may be gone; the transaction has its own error then.
    const waits = await loadLockHolders(sql, waitingPid).catch(() => []);
    isChecking = false;
    for (const { pid, holder } of waits) {
      if (!reported.has(pid)) onLockWait(holder);
      reported.add(pid);
    }
  };
  const timer = setInterval(check, CHECK_INTERVAL_MS);
  return () => clearInterval(timer);
}

/** Who holds a lock. Only the first words of the statement are shown, without any values. */
async function loadLockHolders(sql: postgres.Sql, pid: number) {
  return await sql<{ pid: number; holder: string }[]>`
    select a.pid, format('server process %s (%s, %s): %s', a.pid,
      coalesce(nullif(a.application_name, ''), 'unnamed'), coalesce(a.state, 'unknown state'),
      regexp_replace(substring(a.query from '^\\s*([a-zA-Z_]+(?:\\s+[a-zA-Z_]+){0,3})'),
        '\\s+', ' ', 'g')) as holder
    from (select min(waitstart) as since from pg_locks where pid = ${pid} and not granted) waiting
    join pg_stat_activity a on a.pid = any(pg_blocking_pids(${pid}))
    where waiting.since < clock_timestamp() - make_interval(secs => ${CHECK_INTERVAL_MS / 1000})`;
}
