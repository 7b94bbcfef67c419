import { SignatureV4 } from "@smithy/signature-v4";
import { createHash, createHmac, timingSafeEqual } from "node:crypto";

/** The hash that Amazon's signer asks for, from what the runtime has. */
class Sha256 {
  #hash: ReturnType<typeof createHash> | ReturnType<typeof createHmac>;

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash = secret === undefined
      ? createHash("sha256")
      : createHmac("sha256", typeof secret === "string" ? secret : bytesOf(secret));
  }
  update(data: string | ArrayBuffer | ArrayBufferView): void {
    this.#hash.update(typeof data === "string" ? data : bytesOf(data));
  }
  digest(): Promise<Uint8Array> {
    return Promise.resolve(new Uint8Array(this.#hash.digest()));
  }
  reset(): void {}
}

function bytesOf(data: ArrayBuffer | ArrayBufferView): Uint8Array {
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
}

/**
 * Checks a request's signature by making it again with Amazon's own signer: in headers, or in the
 * query of a presigned address.
 *
 * @returns what is wrong, `""` when nothing is
 */
export async function verifySignature(
  request: Request,
  { key, secret, region, body }: { key: string; secret: string; region: string; body: Uint8Array },
): Promise<string> {
  const url = new URL(request.url);
  const signer = new SignatureV4({
    credentials: { accessKeyId: key, secretAccessKey: secret },
    region,
    service: "s3",
    sha256: Sha256,
    uriEscapePath: false,
    applyChecksum: false,
  });
  const query = Object.fromEntries(url.searchParams);
  const presigned = query["X-Amz-Signature"];
  const message = {
    method: request.method,
    protocol: url.protocol,
    hostname: url.hostname,
    path: url.pathname,
    query,
    headers: { host: request.headers.get("host") ?? url.host } as Record<string, string>,
  };
  if (presigned !== undefined) {
    const date = dateOf(query["X-Amz-Date"] ?? "");
    const expiresIn = Number(query["X-Amz-Expires"]);
    if (Date.now() > date.getTime() + expiresIn * 1000) return "AccessDenied";
    for (const name of Object.keys(query)) if (name.startsWith("X-Amz-")) delete query[name];
    const again = await signer.presign(
      { ...message, headers: { ...message.headers, "x-amz-content-sha256": "UNSIGNED-PAYLOAD" } },
      {
        signingDate: date,
        expiresIn,
        unsignableHeaders: new Set(["x-amz-content-sha256"]),
        unhoistableHeaders: new Set(["x-amz-content-sha256"]),
      },
    );
    return isEqual(String(again.query?.["X-Amz-Signature"]), presigned)
      ? ""
      : "SignatureDoesNotMatch";
  }

  const authorization = request.headers.get("authorization") ?? "";
  const [, accessKey, signedHeaders = "", signature = ""] =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/.*SignedHeaders=([^,]+), ?Signature=([0-9a-f]+)$/
      .exec(authorization) ?? [];
  if (accessKey === undefined) return "AccessDenied";
  if (accessKey !== key) return "InvalidAccessKeyId";
  for (const name of signedHeaders.split(";")) {
    message.headers[name] = request.headers.get(name) ?? message.headers[name] ?? "";
  }
  const hash = message.headers["x-amz-content-sha256"];
  const isHash = hash === createHash("sha256").update(body).digest("hex");
  if (!isHash && hash !== "UNSIGNED-PAYLOAD") return "XAmzContentSHA256Mismatch";
  const again = await signer.sign(message, {
    signingDate: dateOf(message.headers["x-amz-date"] ?? ""),
    signableHeaders: new Set(signedHeaders.split(";")),
  });
  const expected = /Signature=([0-9a-f]+)$/.exec(again.headers.authorization ?? "")?.[1] ?? "";
  return isEqual(expected, signature) ? "" : "SignatureDoesNotMatch";
}

function isEqual(a: string, b: string): boolean {
  return a.length === b.length &&
    timingSafeEqual(new TextEncoder().encode(a), new TextEncoder().encode(b));
}

function dateOf(text: string): Date {
  return new Date(
    text.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"),
  );
}
