/**
 * Load from wrk: as fast as it goes, and at a fixed rate.
 *
 * autocannon, which is made for fixed rates, counts whole milliseconds and sends what a second may
 * have at its beginning, so it cannot tell 0.3 ms from 0.9. wrk counts microseconds and can be told
 * to wait: many connections, each of which waits a random time before each request, make requests
 * that come independently of each other and of the answers, at the rate that is wanted.
 */

/** What is asked for, again and again. */
export interface Target {
  url: string;
  headers: Record<string, string>;
  /** Paths that take the place of the URL's own, each once, in this order. */
  paths?: readonly string[];
  /** After the last path comes the first again, instead of an error. */
  repeatsPaths?: boolean;
  /** A body makes it a POST. */
  body?: string;
}

/** What one slice of load measured. */
export interface Measured {
  rps: number;
  p50Ms: number;
  p99Ms: number;
  /** Of a response with its head, on average. */
  bytes: number;
}

// Enough to keep a pool of four busy, few enough that waiting in line does not hide the work.
const CONNECTIONS = 16;
// Each connection asks about so often: answers take far less, so that none waits for another.
const REQUESTS_PER_CONNECTION_AND_SECOND = 20;
const MAX_CONNECTIONS_AT_RATE = 256;

/** As many requests as are answered in the given time. @throws {Error} when one was refused */
export async function saturate(target: Target, seconds: number): Promise<Measured> {
  return await runWrk(target, { seconds, connections: CONNECTIONS, delayMs: null });
}

/**
 * About the same number of requests in every second, at random moments.
 *
 * @throws {Error} when one was refused
 */
export async function atRate(
  target: Target,
  { rate, seconds }: { rate: number; seconds: number },
): Promise<Measured> {
  const connections = Math.min(
    MAX_CONNECTIONS_AT_RATE,
    Math.max(4, Math.round(rate / REQUESTS_PER_CONNECTION_AND_SECOND)),
  );
  return await runWrk(target, { seconds, connections, delayMs: (connections / rate) * 1000 });
}

interface Run {
  seconds: number;
  connections: number;
  /** That a connection waits before a request, on average. */
  delayMs: number | null;
}

async function runWrk(target: Target, run: Run): Promise<Measured> {
  const folder = await Deno.makeTempDir();
  try {
    if (target.paths) await Deno.writeTextFile(`${folder}/paths`, target.paths.join("\n"));
    const script = `${folder}/load.lua`;
    await Deno.writeTextFile(script, luaScript(target, { folder, delayMs: run.delayMs }));
    const headers = Object.entries(target.headers)
      .flatMap(([name, value]) => ["-H", `${name}: ${value}`]);
    const { stdout, stderr, success } = await new Deno.Command("wrk", {
      args: [
        "-t1",
        `-c${run.connections}`,
        `-d${Math.ceil(run.seconds)}s`,
        ...["-s", script],
        ...headers,
        target.url,
      ],
    }).output();
    const text = new TextDecoder().decode(stdout);
    const line = /^MEASURED (\{.*\})$/m.exec(text)?.[1];
    if (!success || !line) throw new Error(`wrk: ${new TextDecoder().decode(stderr)}${text}`);
    const said = JSON.parse(line);
    if (said.refused > 0) throw new Error(`${said.refused} requests were refused: ${text}`);
    if (said.exhausted) throw new Error(`expected more than ${target.paths?.length} paths`);
    return {
      rps: said.requests / (said.duration_us / 1e6),
      p50Ms: said.p50_us / 1000,
      p99Ms: said.p99_us / 1000,
      bytes: said.bytes / said.requests,
    };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function luaScript(
  { body, paths, repeatsPaths = false }: Target,
  { folder, delayMs }: { folder: string; delayMs: number | null },
): string {
  const parts: string[] = [];
  if (body !== undefined) {
    parts.push(
      `wrk.method = "POST"`,
      `wrk.body = ${JSON.stringify(body)}`,
      `wrk.headers["Content-Type"] = "application/json"`,
    );
  }
  if (paths) {
    parts.push(
      `local paths = {}`,
      `for path in io.lines("${folder}/paths") do paths[#paths + 1] = path end`,
      `local n = 0`,
      // The first request is made once more before the run, to learn how long it is.
      `request = function()
        n = n + 1
        if n > #paths then n = 1; exhausted = ${repeatsPaths ? "0" : "1"} end
        return wrk.format(nil, paths[n])
      end`,
      // The script runs in several states: only through the thread can one hear of another.
      `local asking
      setup = function(thread) asking = thread end
      local function isExhausted() return asking:get("exhausted") == 1 end`,
    );
  } else parts.push(`local function isExhausted() return false end`);
  if (delayMs !== null) {
    parts.push(`delay = function() return math.random(0, ${Math.round(delayMs * 2)}) end`);
  }
  parts.push(`done = function(summary, latency)
      local errors = summary.errors
      io.write(string.format('MEASURED {"requests":%d,"duration_us":%d,"bytes":%d,"refused":%d,' ..
        '"p50_us":%d,"p99_us":%d,"exhausted":%s}\\n', summary.requests, summary.duration,
        summary.bytes, errors.connect + errors.read + errors.write + errors.status + errors.timeout,
        latency:percentile(50), latency:percentile(99), tostring(isExhausted())))
    end`);
  return parts.join("\n");
}
