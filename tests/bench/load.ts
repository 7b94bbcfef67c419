/** Load from well-kept tools: wrk as fast as it goes, autocannon at a fixed rate. */

/** What is asked for, again and again. */
export interface Target {
  url: string;
  headers: Record<string, string>;
  /**
   * A path with `{number}` (below 800) and `{day}`, in which every request puts others, counted
   * from `first`: no two requests are the same.
   */
  numbered?: { path: string; first: number };
  /** A body makes it a POST. */
  body?: string;
}

/** What one slice of load measured. */
export interface Measured {
  rps: number;
  p50Ms: number;
  p99Ms: number;
}

// Enough to keep a pool of four busy, few enough that waiting in line does not hide the work.
const CONNECTIONS = 16;

/** As many requests as are answered in the given time. @throws {Error} when one was refused */
export async function saturate(target: Target, seconds: number): Promise<Measured> {
  const script = await Deno.makeTempFile({ suffix: ".lua" });
  try {
    await Deno.writeTextFile(script, luaScript(target));
    const { stdout } = await new Deno.Command("wrk", {
      args: [
        "-t1",
        `-c${CONNECTIONS}`,
        `-d${seconds}s`,
        "--latency",
        "-s",
        script,
        ...Object.entries(target.headers).flatMap(([name, value]) => ["-H", `${name}: ${value}`]),
        target.url,
      ],
    }).output();
    const text = new TextDecoder().decode(stdout);
    if (/Non-2xx|Socket errors/.test(text)) throw new Error(`refused requests:\n${text}`);
    return {
      rps: Number(/Requests\/sec:\s+([\d.]+)/.exec(text)?.[1]),
      p50Ms: milliseconds(/50%\s+(\S+)/.exec(text)?.[1]),
      p99Ms: milliseconds(/99%\s+(\S+)/.exec(text)?.[1]),
    };
  } finally {
    await Deno.remove(script);
  }
}

/** The same number of requests in every second. */
export async function atRate(
  folder: string,
  target: Target,
  { rate, seconds }: { rate: number; seconds: number },
): Promise<Measured> {
  const { stdout } = await new Deno.Command(`${folder}/node_modules/.bin/node`, {
    args: [
      `${folder}/node_modules/.bin/autocannon`,
      "--json",
      "--no-progress",
      "--connections",
      String(CONNECTIONS),
      "--overallRate",
      String(Math.max(1, Math.round(rate))),
      "--duration",
      String(seconds),
      ...Object.entries(target.headers).flatMap(([name, value]) => ["-H", `${name}=${value}`]),
      target.url,
    ],
  }).output();
  const result = JSON.parse(new TextDecoder().decode(stdout));
  if (result.non2xx + result.errors > 0) throw new Error("requests were refused");
  return {
    rps: result.requests.average,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
  };
}

function luaScript({ numbered, body }: Target): string {
  if (body !== undefined) {
    return `wrk.method = "POST"\nwrk.body = ${JSON.stringify(body)}\n` +
      `wrk.headers["Content-Type"] = "application/json"`;
  }
  if (!numbered) return "";
  return `local n = ${numbered.first}\nlocal path = ${JSON.stringify(numbered.path)}\n` +
    `request = function()
      n = n + 1
      local day = string.format("%04d-%02d-%02d", 2100 + math.floor(n / 336) % 7000,
        math.floor(n / 28) % 12 + 1, n % 28 + 1)
      return wrk.format(nil, (path:gsub("{number}", n % 800):gsub("{day}", day)))
    end`;
}

function milliseconds(text = ""): number {
  const [, value = "", unit = ""] = /^([\d.]+)(us|ms|s)$/.exec(text) ?? [];
  return Number(value) * ({ us: 0.001, ms: 1, s: 1_000 }[unit] ?? NaN);
}
