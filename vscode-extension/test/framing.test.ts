import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Framing } from "../src/adapter/framing";

const framed = (text: string) => {
  const body = Buffer.from(text);
  return Buffer.concat([Buffer.from(`Content-Length: ${String(body.length)}\r\n\r\n`), body]);
};

/** What comes out when the bytes arrive in pieces of this size. */
function messagesOf(bytes: Buffer, size: number): string[] {
  const found: string[] = [];
  const framing = new Framing((text) => found.push(text));
  for (let at = 0; at < bytes.length; at += size) framing.add(bytes.subarray(at, at + size));
  return found;
}

describe("messages of an adapter", () => {
  const texts = ["{}", '{"name":"卷积 😀"}', "", `"${"x".repeat(5000)}"`, '{"a":"Content-Length: 3\\r\\n\\r\\n"}'];
  const stream = Buffer.concat(texts.map(framed));

  it("are the same, however the bytes are cut", () => {
    for (const size of [1, 2, 3, 5, 7, 16, 64, 1000, 4096, stream.length])
      assert.deepEqual(messagesOf(stream, size), texts, `pieces of ${String(size)} bytes`);
  });

  it("may have other headers, in any case", () => {
    const bytes = Buffer.from("Content-Type: x\r\ncontent-length:2\r\n\r\n{}Content-Length: 2\r\n\r\n[]");
    assert.deepEqual(messagesOf(bytes, 4), ["{}", "[]"]);
  });

  it("come after what was printed by mistake", () => {
    const bytes = Buffer.concat([Buffer.from("hello\r\n\r\n"), framed("{}")]);
    assert.deepEqual(messagesOf(bytes, 3), ["{}"]);
  });

  it("of many megabytes arrive whole, in small pieces", () => {
    const large = framed("y".repeat(1 << 24));
    assert.equal(messagesOf(large, 1 << 12)[0]?.length, 1 << 24);
  });
});
