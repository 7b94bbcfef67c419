import assert from "node:assert/strict";
import { createServer, type Server, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "@std/testing/bdd";
import { postMessage, type PostRequest } from "../../../lib/webhook_sender/post_message.ts";
import { pause } from "../../../lib/base/delay.ts";

/** A receiver on 127.0.0.1 that answers the first bytes of each connection as `answer` says. */
class RawReceiver {
  answer: (socket: Socket) => void = () => {};
  requests: string[] = [];
  readonly #server: Server = createServer((socket) => {
    socket.on("error", () => {});
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk;
      if (!text.endsWith("{}")) return;
      this.requests.push(text);
      this.answer(socket);
    });
  });

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

describe("posting a message", () => {
  const receiver = new RawReceiver();
  before(() => receiver.start());
  after(() => receiver.stop());

  const request = (more: Partial<PostRequest> = {}): PostRequest => ({
    url: `http://127.0.0.1:${receiver.port}/hook?x=1`,
    allowsPrivate: true,
    headers: { "webhook-id": "msg_1" },
    body: "{}",
    attemptCount: 1,
    ...more,
  });

  const answer = (text: string) => {
    receiver.requests.length = 0;
    receiver.answer = (socket) => socket.end(text);
  };

  it("sends body and headers, and is content with any 2xx", async () => {
    answer("HTTP/1.1 204 No Content\r\n\r\n");
    assert.deepEqual(await postMessage(request()), {
      isDelivered: true,
      outcome: "HTTP 204",
      retryAfter: 0,
    });
    const [sent] = receiver.requests;
    assert.match(sent!, /^POST \/hook\?x=1 HTTP\/1\.1\r\n/);
    assert.match(sent!, /\r\nwebhook-id: msg_1\r\n/i);
    assert.match(sent!, /\r\ncontent-type: application\/json\r\n/i);
    assert.match(sent!, /\r\ncontent-length: 2\r\n/i);
    assert.match(sent!, /\r\n\r\n\{\}$/);
  });

  it("connects to the address that was checked: a name is resolved once", async () => {
    answer("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    const looked: string[] = [];
    const url = `http://hooks.example.com:${receiver.port}/`;
    const resolve = (host: string) => {
      looked.push(host);
      // The second look-up returns another address.
      return Promise.resolve(looked.length === 1 ? ["127.0.0.1"] : ["192.0.2.1"]);
    };
    const { outcome } = await postMessage(request({ url }), { resolve });
    assert.equal(outcome, "HTTP 200");
    assert.deepEqual(looked, ["hooks.example.com"]);
    assert.match(
      receiver.requests[0]!,
      new RegExp(`\r\nhost: hooks.example.com:${receiver.port}\r\n`, "i"),
    );
  });

  it("does not connect where private addresses are not allowed, whatever the name", async () => {
    answer("HTTP/1.1 200 OK\r\n\r\n");
    const url = `http://hooks.example.com:${receiver.port}/`;
    for (const address of ["127.0.0.1", "::1", "::ffff:127.0.0.1", "169.254.169.254"]) {
      const { isDelivered, outcome } = await postMessage(request({ url, allowsPrivate: false }), {
        resolve: () => Promise.resolve([address]),
      });
      assert.equal(isDelivered, false);
      assert.equal(
        outcome,
        `hooks.example.com is ${address}, which is not an address of the public internet`,
      );
    }
    const literal = await postMessage(request({ allowsPrivate: false }));
    assert.match(literal.outcome, /127\.0\.0\.1, which is not/);
    assert.deepEqual(receiver.requests, []);
  });

  it("takes the addresses of a host in turn, private ones left out", async () => {
    const tried = async (attemptCount: number) => {
      const url = "http://hooks.example.com:1/";
      const { outcome } = await postMessage(request({ url, attemptCount, allowsPrivate: true }), {
        resolve: () => Promise.resolve(["127.0.0.2", "127.0.0.3"]),
      });
      return outcome;
    };
    assert.match(await tried(1), /127\.0\.0\.2/);
    assert.match(await tried(2), /127\.0\.0\.3/);
    assert.match(await tried(3), /127\.0\.0\.2/);
  });

  it("follows no redirect", async () => {
    answer(`HTTP/1.1 307 x\r\nlocation: http://127.0.0.1:${receiver.port}/other\r\n\r\n`);
    const { isDelivered, outcome } = await postMessage(request());
    assert.equal(isDelivered, false);
    assert.equal(outcome, "HTTP 307, and redirects are not followed");
    assert.equal(receiver.requests.length, 1);
  });

  it("reads how long the receiver asks to wait", async () => {
    answer("HTTP/1.1 429 x\r\nretry-after: 120\r\ncontent-length: 0\r\n\r\n");
    assert.deepEqual(await postMessage(request()), {
      isDelivered: false,
      outcome: "HTTP 429",
      retryAfter: 120,
    });
    answer("HTTP/1.1 503 x\r\nretry-after: Wed, 21 Oct 2026 07:28:00 GMT\r\n\r\n");
    assert.equal((await postMessage(request())).retryAfter, 0);
  });

  it("takes the first of two answers", async () => {
    answer(
      "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\nHTTP/1.1 500 x\r\ncontent-length: 0\r\n\r\n",
    );
    assert.equal((await postMessage(request())).outcome, "HTTP 200");
  });

  it("cuts an endless body, and does not wait for a slow one", async () => {
    let sent = 0;
    receiver.answer = (socket) => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      const more = () => {
        while (!socket.destroyed && socket.write("x".repeat(10_000))) sent += 10_000;
      };
      socket.on("drain", more);
      more();
    };
    assert.equal((await postMessage(request())).outcome, "HTTP 200");
    const before = sent;
    await pause(200);
    assert.ok(sent - before < 5_000_000, `${sent - before} bytes more`);

    receiver.answer = (socket) => void socket.write("HTTP/1.1 200 OK\r\n\r\nx");
    const start = performance.now();
    assert.equal((await postMessage(request())).outcome, "HTTP 200");
    assert.ok(performance.now() - start < 5_000);
  });

  it("gives up on a receiver that is silent, or sends its head byte by byte", async () => {
    receiver.answer = () => {};
    assert.match(
      (await postMessage(request(), { timeoutMs: 200 })).outcome,
      /no response in 200 ms/,
    );
    receiver.answer = (socket) => {
      const drip = setInterval(() => socket.write("x"), 20);
      socket.on("close", () => clearInterval(drip));
      socket.write("HTTP/1.1 200 OK\r\nx-");
    };
    assert.match(
      (await postMessage(request(), { timeoutMs: 300 })).outcome,
      /no response in 300 ms/,
    );
    const resolve = () => new Promise<never>(() => {});
    const url = "http://hooks.example.com/";
    const { outcome } = await postMessage(request({ url }), { timeoutMs: 50, resolve });
    assert.match(outcome, /no response in 50 ms/);
  });

  it("says in one line what went wrong, without the path of the URL", async () => {
    for (const text of ["", "HTP/9 nonsense\r\n\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n"]) {
      answer(text);
      const { isDelivered, outcome } = await postMessage(request());
      assert.equal(isDelivered, false, text);
      assert.match(outcome, /^[^\n]+$/);
      assert.doesNotMatch(outcome, /hook/);
    }
    const { outcome } = await postMessage(request({ url: "http://127.0.0.1:1/secret-path" }));
    assert.match(outcome, /ECONNREFUSED/);
    assert.doesNotMatch(outcome, /secret-path/);
  });

  it("checks the certificate for the name, not for the address", async () => {
    const certificate = await selfSigned();
    const server = Deno.serve({
      hostname: "127.0.0.1",
      port: 0,
      ...certificate,
      onListen: () => {},
    }, () => new Response("ok"));
    try {
      const url = `https://hooks.example.com:${server.addr.port}/`;
      const { isDelivered, outcome } = await postMessage(request({ url }), {
        resolve: () => Promise.resolve(["127.0.0.1"]),
      });
      assert.equal(isDelivered, false);
      assert.match(outcome, /certificate|UnknownIssuer|CaUsedAsEndEntity|self.signed/i);
    } finally {
      await server.shutdown();
    }
  });
});

/** A certificate for hooks.example.com that no authority has signed. */
async function selfSigned(): Promise<{ key: string; cert: string }> {
  const folder = await Deno.makeTempDir();
  try {
    const { success } = await new Deno.Command("openssl", {
      args: [
        ..."req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1".split(" "),
        ...["-subj", "/CN=hooks.example.com", "-addext", "subjectAltName=DNS:hooks.example.com"],
        ...["-keyout", `${folder}/key`, "-out", `${folder}/cert`],
      ],
      stderr: "null",
    }).output();
    assert.ok(success, "openssl");
    const [key, cert] = await Promise.all(
      ["key", "cert"].map((name) => Deno.readTextFile(`${folder}/${name}`)),
    );
    return { key: key!, cert: cert! };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
