// Tiles of AMX: registers of sixteen rows of 64 bytes, and products of two of them, summed in 32 bits.
//
// A product is of A, [16 rows][depth], and B, [depth / 4][16 columns][4], as packed weights lie (kernels.h). Sums are
// [16 rows][16 columns].
//
// On other CPUs a check of the kernels computes the same in plain code, whose bounds a sanitizer sees.
#pragma once

#include "lanes.h"

namespace chairlift {
namespace CHAIRLIFT_INSTRUCTIONS {

// Asks memory for what will be needed in a while: it goes to the second level of the cache.
static inline void prefetchFar(const void *p) { __builtin_prefetch(p, 0, 2); }

// Bytes of a tile.
constexpr size_t kWholeTile = kTileRows * kTileDepth;

// Registers: of sums, and of what is multiplied. With more than one, a product need not wait for the one before.
constexpr int kSums = 0, kRowTiles = 4, kColumnTiles = 6, kNumTiles = 8;

// Which bytes of a product have signs.
enum class Signs { kBoth, kRows, kColumns };

#if defined(__AMX_INT8__)

// A thread's tiles, from here to the end of the scope.
class Tiles {
 public:
  // @param depth of products, a multiple of four up to 64
  explicit Tiles(size_t depth) {
    struct alignas(64) {
      uint8_t palette, startRow, reserved[14];
      uint16_t bytes[16];
      uint8_t rows[16];
    } shapes = {};
    shapes.palette = 1;
    for (int tile = kSums; tile < kNumTiles; tile++) {
      const bool isColumns = tile >= kColumnTiles, isRows = tile >= kRowTiles && !isColumns;
      shapes.bytes[tile] = uint16_t(isRows ? depth : 4 * kLanes);
      shapes.rows[tile] = uint8_t(isColumns ? depth / 4 : kTileRows);
    }
    asm volatile("ldtilecfg %0" ::"m"(shapes));
  }
  Tiles(const Tiles &) = delete;
  Tiles &operator=(const Tiles &) = delete;
  ~Tiles() { asm volatile("tilerelease" ::); }

  template <int Tile>
  void clear() { asm volatile("tilezero %%tmm%c0" ::"i"(Tile)); }
  template <int Tile>
  void load(const void *from, size_t stride) {
    asm volatile("tileloadd (%1,%2,1), %%tmm%c0" ::"i"(Tile), "r"(from), "r"(stride) : "memory");
  }
  template <int Tile>
  void store(int32_t *to) {
    asm volatile("tilestored %%tmm%c0, (%1,%2,1)" ::"i"(Tile), "r"(to), "r"(4 * kLanes) : "memory");
  }
  template <int Sums, int Rows, int Columns, Signs S>
  void multiply() {
    if constexpr (S == Signs::kBoth) {
      asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(Sums), "i"(Rows), "i"(Columns));
    } else if constexpr (S == Signs::kRows) {
      asm volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(Sums), "i"(Rows), "i"(Columns));
    } else {
      asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(Sums), "i"(Rows), "i"(Columns));
    }
  }
};

#else

class Tiles {
 public:
  explicit Tiles(size_t depth) : depth(depth) {}

  template <int Tile>
  void clear() { memset(bytes[Tile], 0, kWholeTile); }
  template <int Tile>
  void load(const void *from, size_t stride) {
    constexpr bool kIsRows = Tile >= kRowTiles && Tile < kColumnTiles;
    for (size_t row = 0; row < (kIsRows ? kTileRows : depth / 4); row++) {
      memcpy(bytes[Tile] + row * kTileDepth, static_cast<const uint8_t *>(from) + row * stride,
             kIsRows ? depth : kTileDepth);
    }
  }
  template <int Tile>
  void store(int32_t *to) { memcpy(to, bytes[Tile], kWholeTile); }
  template <int Sums, int Rows, int Columns, Signs S>
  void multiply() {
    uint32_t sums[kTileRows * kLanes];
    memcpy(sums, bytes[Sums], kWholeTile);
    for (size_t i = 0; i < kTileRows * kLanes; i++) {
      for (size_t k = 0; k < depth; k++) {
        const uint8_t row = bytes[Rows][i / kLanes * kTileDepth + k];
        const uint8_t column = bytes[Columns][k / 4 * kTileDepth + i % kLanes * 4 + k % 4];
        const int32_t first = S == Signs::kColumns ? row : int8_t(row);
        sums[i] += uint32_t(first * (S == Signs::kRows ? column : int8_t(column)));
      }
    }
    memcpy(bytes[Sums], sums, kWholeTile);
  }

 private:
  size_t depth;
  uint8_t bytes[kNumTiles][kWholeTile];
};

#endif

}  // namespace CHAIRLIFT_INSTRUCTIONS
}  // namespace chairlift
