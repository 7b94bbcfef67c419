/** Archives that are put to an address of HTTP, through `inbox.ts`. */
import { after, afterEach, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { fileURLToPath } from "node:url";
import { openTarget } from "../../../lib/storage/inbox.ts";
import type { StoredFile } from "../../../lib/storage/storage.ts";

const CONFIG = fileURLToPath(new URL("../../../deno.json", import.meta.url));
const PUT_PROGRAM = fileURLToPath(new URL("put_program.ts", import.meta.url));
const MB = 1024 * 1024;
const repository = { owner: "acme", name: "shop" };

/** A request as the server saw it, with the size of its body. */
interface Seen {
  line: string;
  length: string | undefined;
  encoding: string | undefined;
  bytes: number;
}

describe("upload to an HTTP address", () => {
  const seen: Seen[] = [];
  /** The next responses; 201 afterwards. */
  let next: { status: number; headers?: Record<string, string> }[] = [];
  let server: Server;
  let address = "";
  let file: StoredFile;

  before(async () => {
    server = createServer(async (request, response) => {
      const { "content-length": length, "transfer-encoding": encoding } = request.headers;
      const line = `${request.method} ${request.url}`;
      const { status, headers = {} } = next.shift() ?? { status: 201 };
      const one = { line, length, encoding, bytes: 0 };
      seen.push(one);
      for await (const chunk of request) one.bytes += chunk.length;
      response.writeHead(status, headers).end(status === 204 ? undefined : "done");
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    file = await sparseFile(5 * MB);
  });
  afterEach(() => {
    seen.length = 0;
    next = [];
  });
  after(async () => {
    await Deno.remove(file.path);
    server.close();
    server.closeAllConnections();
  });

  async function sparseFile(size: number): Promise<StoredFile> {
    const path = await Deno.makeTempFile();
    await Deno.truncate(path, size);
    return { path, size, digest: "" };
  }

  const put = (stored: StoredFile, path = "/in/") =>
    openTarget(`${address}${path}`, { environment: {}, repository }).put(stored, "a.gz");

  it("sends the file as it is read, with its length", async () => {
    const large = await sparseFile(400 * MB);
    try {
      const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", "--no-check", "--config", CONFIG, PUT_PROGRAM, address, large.path],
      }).output();
      const [key, memory] = new TextDecoder().decode(stdout).trim().split("\n");
      assert.equal(key, `${address}/in/a.gz`, new TextDecoder().decode(stderr));
      assert.ok(Number(memory) < 150 * MB, `${Number(memory) / MB} MB more`);
    } finally {
      await Deno.remove(large.path);
    }
    const length = String(large.size);
    assert.deepEqual(seen, [{
      line: "PUT /in/a.gz",
      length,
      encoding: undefined,
      bytes: large.size,
    }]);
  });

  it("sends the whole file again after an error, not before Retry-After", async () => {
    next = [{ status: 503, headers: { "retry-after": "1" } }, { status: 429 }];
    const begun = performance.now();
    await put(file);
    assert.ok(performance.now() - begun >= 1_000);
    assert.deepEqual(seen.map(({ bytes }) => bytes), Array(3).fill(file.size));
  });

  it("takes 204 for success, as WebDAV responds to a file that existed", async () => {
    next = [{ status: 204 }];
    assert.equal(await put(file, "/dav/report.gz"), `${address}/dav/report.gz`);
  });

  it("follows no redirect", async () => {
    next = [{ status: 307, headers: { location: "/elsewhere" } }];
    await assert.rejects(put(file), { message: /HTTP 307: check --to$/ });
    assert.equal(seen.length, 1);
  });

  it("stops sending once there is a response", async () => {
    const large = await sparseFile(400 * MB);
    let received = 0;
    // Reads on, as servers do that want their response to arrive.
    const refusing = createTcpServer((socket) => {
      socket.once("data", () => socket.write("HTTP/1.1 413 No\r\ncontent-length: 0\r\n\r\n"));
      socket.on("data", (chunk) => received += chunk.length).on("error", () => {});
    }).listen(0, "127.0.0.1");
    try {
      await once(refusing, "listening");
      const { port } = refusing.address() as AddressInfo;
      const target = openTarget(`http://127.0.0.1:${port}/`, { environment: {}, repository });
      await assert.rejects(target.put(large, "a.gz"), { message: /HTTP 413: check --to$/ });
      assert.ok(received < large.size, String(received));
    } finally {
      refusing.close();
      await Deno.remove(large.path);
    }
  });

  it("goes through the proxy of the environment", async () => {
    const script = `
      import { fileURLToPath } from "node:url";
import { openTarget } from ${JSON.stringify(import.meta.resolve("../../../lib/storage/inbox.ts"))};
      const target = openTarget("http://elsewhere.invalid/in/", {
        environment: {}, repository: { owner: "acme", name: "shop" } });
      await target.put({ path: Deno.args[0], size: ${5 * MB}, digest: "" }, "a.gz");`;
    const { success, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["eval", "--config", CONFIG, "--ext=ts", script, file.path],
      env: { HTTP_PROXY: address, NO_PROXY: "" },
    }).output();
    assert.ok(success, new TextDecoder().decode(stderr));
    assert.deepEqual(seen.map(({ line, bytes }) => [line, bytes]), [
      ["PUT http://elsewhere.invalid/in/a.gz", file.size],
    ]);
  });
});
