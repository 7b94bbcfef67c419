/**
 * Load from wrk: at saturation, and at a fixed rate.
 *
 * autocannon, which is made for fixed rates, counts whole milliseconds and sends each second's
 * requests in one burst, so it cannot tell 0.3 ms from 0.9. wrk counts microseconds and supports a
 * delay: many connections, each waiting a random time before every request, produce independent
 * arrivals at the wanted rate.
 */

/** The requests of one load. */
export interface Target {
  url: string;
  headers: Record<string, string>;
  /** Sent in this order instead of the URL's own path. */
  requests?: readonly PlannedRequest[];
  /** Starts over after the last of `requests` instead of failing. */
  repeats?: boolean;
  /** A body makes it a POST. */
  body?: string;
}

/** One request of a sequence. */
export interface PlannedRequest {
  path: string;
  /** Replaces the target's own token. */
  token?: string;
}

/** Figures of one slice of load. */
export interface Measured {
  rps: number;
  p50Ms: number;
  p99Ms: number;
  /** Average size of a response, headers included. */
  bytes: number;
}

// Enough to keep a pool of four busy, few enough that queueing does not hide the work.
const CONNECTIONS = 16;
// Responses take far less than 50 ms, so requests of one connection do not wait for each other.
const REQUESTS_PER_CONNECTION_AND_SECOND = 20;
const MAX_CONNECTIONS_AT_RATE = 256;

/** As many requests as the server answers. @throws {Error} when a request failed */
export async function saturate(target: Target, seconds: number): Promise<Measured> {
  return await runWrk(target, { seconds, connections: CONNECTIONS, delayMs: null });
}

/** `rate` requests per second at random moments. @throws {Error} when a request failed */
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
  /** Average delay of a connection before each request; `null` for none. */
  delayMs: number | null;
}

async function runWrk(target: Target, run: Run): Promise<Measured> {
  const folder = await Deno.makeTempDir();
  try {
    if (target.requests) {
      const lines = target.requests.map(({ path, token = "" }) => `${path}\t${token}`);
      await Deno.writeTextFile(`${folder}/requests`, lines.join("\n"));
    }
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
    const summary = JSON.parse(line);
    if (summary.failed > 0) throw new Error(`${summary.failed} requests failed: ${text}`);
    if (summary.exhausted) {
      throw new Error(`expected more than ${target.requests?.length} requests`);
    }
    return {
      rps: summary.requests / (summary.duration_us / 1e6),
      p50Ms: summary.p50_us / 1000,
      p99Ms: summary.p99_us / 1000,
      bytes: summary.bytes / summary.requests,
    };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function luaScript(
  { body, requests, repeats = false }: Target,
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
  if (requests) {
    parts.push(
      `local requests = {}`,
      // Formatted before the run, so that the load generator leaves the processors to the servers.
      `init = function()
        for line in io.lines("${folder}/requests") do
          local path, token = line:match("^(.-)\\t(.*)$")
          if token ~= "" then wrk.headers["authorization"] = "Bearer " .. token end
          requests[#requests + 1] = wrk.format(nil, path)
        end
      end`,
      `local n = 0`,
      // wrk calls this once before the run, to count the requests that it returns.
      `request = function()
        n = n + 1
        if n > #requests then n = 1; exhausted = ${repeats ? "0" : "1"} end
        return requests[n]
      end`,
      // Each thread runs the script in a Lua state of its own; `done` runs in another one.
      `local worker
      setup = function(thread) worker = thread end
      local function isExhausted() return worker:get("exhausted") == 1 end`,
    );
  } else parts.push(`local function isExhausted() return false end`);
  if (delayMs !== null) {
    parts.push(`delay = function() return math.random(0, ${Math.round(delayMs * 2)}) end`);
  }
  parts.push(`done = function(summary, latency)
      local errors = summary.errors
      io.write(string.format('MEASURED {"requests":%d,"duration_us":%d,"bytes":%d,"failed":%d,' ..
        '"p50_us":%d,"p99_us":%d,"exhausted":%s}\\n', summary.requests, summary.duration,
        summary.bytes, errors.connect + errors.read + errors.write + errors.status + errors.timeout,
        latency:percentile(50), latency:percentile(99), tostring(isExhausted())))
    end`);
  return parts.join("\n");
}
