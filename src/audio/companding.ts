/** Samples of telephony, 8 bits each, as ITU-T G.711 has them. */

export const MULAW = Float32Array.from({ length: 256 }, (_, code) => {
  const inverted = ~code & 255;
  const exponent = (inverted >> 4) & 7;
  const magnitude = ((((inverted & 15) << 3) + 132) << exponent) - 132;
  return ((inverted & 128) === 0 ? magnitude : -magnitude) / 2 ** 15;
});

export const ALAW = Float32Array.from({ length: 256 }, (_, code) => {
  const inverted = code ^ 0x55;
  const exponent = (inverted >> 4) & 7;
  const mantissa = ((inverted & 15) << 4) + 8;
  const magnitude = exponent === 0 ? mantissa : (mantissa + 256) << (exponent - 1);
  return ((inverted & 128) === 0 ? -magnitude : magnitude) / 2 ** 15;
});
