import { gzip } from "node:zlib";

/** Below this the head of gzip eats what is won. */
export const MIN_COMPRESSED_BYTES = 256;

/** Compresses off the main thread. */
export function compress(bytes: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  return new Promise((resolve, reject) => {
    gzip(bytes, (error, compressed) => {
      if (error) reject(error);
      else resolve(new Uint8Array(compressed));
    });
  });
}

/** True when an `Accept-Encoding` header takes gzip, and does not like plain bytes better. */
export function acceptsGzip(acceptEncoding: string | null): boolean {
  if (acceptEncoding === null) return false;
  const qualities = new Map<string, number>();
  for (const element of acceptEncoding.toLowerCase().split(",")) {
    const [coding = "", ...parameters] = element.split(";").map((part) => part.trim());
    const quality = parameters.find((parameter) => parameter.startsWith("q="));
    qualities.set(coding, quality === undefined ? 1 : Number(quality.slice(2)));
  }
  const gzipQuality = qualities.get("gzip") ?? qualities.get("*") ?? 0;
  return gzipQuality > 0 && gzipQuality >= (qualities.get("identity") ?? 0);
}
