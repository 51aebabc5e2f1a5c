const SEPARATOR = "\r\n\r\n";

/** Cuts the bytes of a debug adapter into messages: a header with Content-Length, an empty line, then the JSON text. */
export class Framing {
  private parts: Buffer[] = [];
  private held = 0;
  /** Bytes of the message that has begun; undefined while its header is awaited. */
  private wanted: number | undefined;

  constructor(private readonly onMessage: (text: string) => void) {}

  add(bytes: Buffer): void {
    this.parts.push(bytes);
    this.held += bytes.length;
    while (this.takeOne());
  }

  private takeOne(): boolean {
    if (this.wanted === undefined) {
      const buffer = this.joined();
      const end = buffer.indexOf(SEPARATOR);
      if (end < 0) return false;
      const length = /^Content-Length: *(\d+)/im.exec(buffer.toString("latin1", 0, end))?.[1];
      this.keep(buffer.subarray(end + SEPARATOR.length));
      // What is no header was printed by mistake: the next message may still come.
      if (length === undefined) return true;
      this.wanted = Number(length);
    }
    // Parts are joined when a message is whole, not at each of the many pieces of a long one.
    if (this.held < this.wanted) return false;
    const buffer = this.joined();
    const text = buffer.toString("utf8", 0, this.wanted);
    this.keep(buffer.subarray(this.wanted));
    this.wanted = undefined;
    this.onMessage(text);
    return true;
  }

  private joined(): Buffer {
    const [only, ...others] = this.parts;
    if (only === undefined) return Buffer.alloc(0);
    if (others.length === 0) return only;
    const buffer = Buffer.concat(this.parts);
    this.keep(buffer);
    return buffer;
  }

  private keep(rest: Buffer): void {
    this.parts = [rest];
    this.held = rest.length;
  }
}
