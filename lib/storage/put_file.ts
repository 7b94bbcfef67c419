// Tests: tests/lib/storage/http_target_test.ts tests/lib/storage/s3_test.ts
import { once } from "node:events";
import { createReadStream } from "node:fs";
import http, { type AgentOptions, type IncomingMessage } from "node:http";
import https from "node:https";
import process from "node:process";
import { pipeline } from "node:stream/promises";
import type { StoredFile } from "./storage.ts";

/** For a whole file. */
export const PUT_TIMEOUT_MS = 10 * 60_000;

/** The variables that `fetch` takes its proxy from; `node:http` reads none by itself. */
const PROXY_VARIABLES = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"]
  .flatMap((name) => [name, name.toLowerCase()]);

/** Enough for the reason of an error; a proxy may respond with a page. */
const MAX_RESPONSE_CHARACTERS = 64 * 1024;

const NULL_BODY_STATUSES = [204, 205, 304];

/**
 * Sends a file by PUT as it is read, and follows no redirect. `fetch` does not tell the length of a
 * stream, which S3 and WebDAV demand, and needs four times the size of a file as memory.
 */
export async function putFile(
  { path, size }: StoredFile,
  { url, headers, signal }: {
    url: URL;
    headers: Readonly<Record<string, string>>;
    signal: AbortSignal;
  },
): Promise<Response> {
  const { request: open, Agent } = url.protocol === "https:" ? https : http;
  const proxyEnv = Object.fromEntries(PROXY_VARIABLES.map((name) => [name, process.env[name]]));
  const request = open(url, {
    method: "PUT",
    headers: { ...headers, "content-length": size },
    // Not in the types yet.
    agent: new Agent({ proxyEnv } as AgentOptions),
    signal,
  });
  const responded = once(request, "response");
  // It fails when the request fails.
  pipeline(createReadStream(path), request).catch(() => {});
  try {
    const [response] = await responded as [IncomingMessage];
    const { statusCode: status = 0, headers: { "retry-after": retryAfter = "" } } = response;
    const body = await readText(response);
    return new Response(NULL_BODY_STATUSES.includes(status) ? null : body, {
      status,
      headers: { "retry-after": retryAfter },
    });
  } finally {
    // A response may come before the file is sent: the rest is of no use.
    request.on("error", () => {}).destroy();
  }
}

async function readText(response: IncomingMessage): Promise<string> {
  let text = "";
  try {
    for await (const chunk of response.setEncoding("utf8")) {
      text += chunk;
      if (text.length > MAX_RESPONSE_CHARACTERS) break;
    }
  } catch {
    // The status counts: a server that has refused a file closes the connection while it is sent.
  }
  return text;
}
