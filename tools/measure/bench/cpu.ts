/** Processor time, which, unlike the time on the clock, others on the machine hardly change. */
import postgres from "postgres";

// Linux counts in hundredths of a second towards programs, whatever the kernel is set to.
const TICKS_PER_SECOND = 100;

/** Seconds of processor time that a process that runs has used, its ended children left out. */
export async function cpuSeconds(pid: number): Promise<number> {
  const [user, system] = await ticks(pid);
  return (user + system) / TICKS_PER_SECOND;
}

/** Milliseconds of processor time that the threads of a process have used, to the microsecond. */
export async function cpuMilliseconds(pid: number): Promise<number> {
  let nanoseconds = 0;
  for await (const { name } of Deno.readDir(`/proc/${pid}/task`)) {
    const text = await Deno.readTextFile(`/proc/${pid}/task/${name}/schedstat`).catch(() => "0");
    nanoseconds += Number(text.split(" ")[0]);
  }
  return nanoseconds / 1e6;
}

/** Seconds of processor time of all connections to a server that have ended. */
export async function endedConnectionsCpuSeconds(databaseUrl: string): Promise<number> {
  const sql = postgres(databaseUrl, { max: 1 });
  const [row] = await sql<{ text: string }[]>`select pg_read_file('postmaster.pid') as text`;
  await sql.end();
  const [, , user, system] = await ticks(Number(row!.text.split("\n")[0]));
  return (user + system) / TICKS_PER_SECOND;
}

/** Seconds of processor time of a server and all its processes, by the id of its first. */
export async function serverCpuSeconds(pid: number): Promise<number> {
  let sum = (await ticks(pid)).reduce((total, time) => total + time);
  const children = await Deno.readTextFile(`/proc/${pid}/task/${pid}/children`);
  for (const child of children.split(" ").filter(Boolean)) {
    // One that has ended meanwhile counts to its parent from now on.
    const [user, system] = await ticks(Number(child)).catch(() => [0, 0]);
    sum += user + system;
  }
  return sum / TICKS_PER_SECOND;
}

/** User and system time, and both again of the children that have ended. */
async function ticks(pid: number): Promise<[number, number, number, number]> {
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`);
  // The name, in parentheses, may hold anything; what follows it are numbers.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ").slice(11, 15).map(Number);
  return fields as [number, number, number, number];
}
