/* SPDX-License-Identifier: Apache-2.0 */
#include "erase.h"

#include "philox.h"

#include <assert.h>

enum { NORMAL_BITS = 12, NOISE_BITS = 20, SIZES = 512 };

/* The upper half of the variates, 12 bits of fraction. */
static const int16_t normal_sizes[SIZES] = {
    5,     15,   25,   35,   45,   55,   65,   75,   85,   95,    105,   115,   125,   135,   145,
    155,   165,  176,  186,  196,  206,  216,  226,  236,  246,   256,   266,   276,   286,   296,
    306,   316,  326,  336,  346,  356,  366,  377,  387,  397,   407,   417,   427,   437,   447,
    457,   467,  477,  487,  498,  508,  518,  528,  538,  548,   558,   568,   578,   589,   599,
    609,   619,  629,  639,  649,  660,  670,  680,  690,  700,   710,   721,   731,   741,   751,
    761,   772,  782,  792,  802,  812,  823,  833,  843,  853,   864,   874,   884,   894,   905,
    915,   925,  936,  946,  956,  966,  977,  987,  997,  1008,  1018,  1028,  1039,  1049,  1060,
    1070,  1080, 1091, 1101, 1111, 1122, 1132, 1143, 1153, 1164,  1174,  1184,  1195,  1205,  1216,
    1226,  1237, 1247, 1258, 1268, 1279, 1289, 1300, 1311, 1321,  1332,  1342,  1353,  1363,  1374,
    1385,  1395, 1406, 1417, 1427, 1438, 1448, 1459, 1470, 1481,  1491,  1502,  1513,  1523,  1534,
    1545,  1556, 1567, 1577, 1588, 1599, 1610, 1621, 1631, 1642,  1653,  1664,  1675,  1686,  1697,
    1708,  1719, 1730, 1741, 1752, 1763, 1774, 1785, 1796, 1807,  1818,  1829,  1840,  1851,  1862,
    1873,  1884, 1896, 1907, 1918, 1929, 1940, 1951, 1963, 1974,  1985,  1997,  2008,  2019,  2030,
    2042,  2053, 2065, 2076, 2087, 2099, 2110, 2122, 2133, 2145,  2156,  2168,  2179,  2191,  2202,
    2214,  2226, 2237, 2249, 2261, 2272, 2284, 2296, 2307, 2319,  2331,  2343,  2355,  2366,  2378,
    2390,  2402, 2414, 2426, 2438, 2450, 2462, 2474, 2486, 2498,  2510,  2522,  2534,  2546,  2559,
    2571,  2583, 2595, 2608, 2620, 2632, 2644, 2657, 2669, 2682,  2694,  2707,  2719,  2732,  2744,
    2757,  2769, 2782, 2794, 2807, 2820, 2833, 2845, 2858, 2871,  2884,  2897,  2909,  2922,  2935,
    2948,  2961, 2974, 2987, 3001, 3014, 3027, 3040, 3053, 3066,  3080,  3093,  3106,  3120,  3133,
    3147,  3160, 3174, 3187, 3201, 3214, 3228, 3242, 3256, 3269,  3283,  3297,  3311,  3325,  3339,
    3353,  3367, 3381, 3395, 3409, 3423, 3438, 3452, 3466, 3481,  3495,  3509,  3524,  3538,  3553,
    3568,  3582, 3597, 3612, 3627, 3641, 3656, 3671, 3686, 3701,  3717,  3732,  3747,  3762,  3777,
    3793,  3808, 3824, 3839, 3855, 3870, 3886, 3902, 3918, 3934,  3950,  3966,  3982,  3998,  4014,
    4030,  4046, 4063, 4079, 4096, 4112, 4129, 4146, 4162, 4179,  4196,  4213,  4230,  4247,  4264,
    4282,  4299, 4317, 4334, 4352, 4369, 4387, 4405, 4423, 4441,  4459,  4477,  4495,  4514,  4532,
    4551,  4569, 4588, 4607, 4626, 4645, 4664, 4683, 4702, 4722,  4741,  4761,  4781,  4801,  4821,
    4841,  4861, 4881, 4902, 4922, 4943, 4964, 4985, 5006, 5027,  5049,  5070,  5092,  5114,  5135,
    5158,  5180, 5202, 5225, 5247, 5270, 5293, 5316, 5340, 5363,  5387,  5411,  5435,  5459,  5484,
    5508,  5533, 5558, 5584, 5609, 5635, 5661, 5687, 5713, 5740,  5767,  5794,  5821,  5849,  5877,
    5905,  5934, 5963, 5992, 6021, 6051, 6081, 6111, 6142, 6173,  6204,  6236,  6268,  6301,  6333,
    6367,  6401, 6435, 6469, 6505, 6540, 6576, 6613, 6650, 6688,  6726,  6765,  6805,  6845,  6886,
    6927,  6970, 7013, 7056, 7101, 7146, 7193, 7240, 7288, 7338,  7388,  7440,  7493,  7547,  7602,
    7659,  7717, 7777, 7839, 7903, 7968, 8036, 8105, 8178, 8253,  8330,  8411,  8496,  8584,  8676,
    8773,  8875, 8983, 9097, 9219, 9350, 9491, 9645, 9813, 10000, 10210, 10451, 10736, 11084, 11538,
    12209, 13820};

/* Mean and deviation as whole numbers. */
typedef struct noise_channel {
    int32_t mean;   /* 20 bits of fraction */
    int32_t stddev; /* 8 bits: with a variate's 12 they are 20 */
} noise_channel;

static noise_channel noise_channel_of(float mean, float stddev)
{
    assert(mean >= 0.0F && mean <= 255.0F && stddev >= 0.0F && stddev <= 255.0F);
    const double one = 1 << NOISE_BITS;
    const double step = 1 << (NOISE_BITS - NORMAL_BITS);
    return (noise_channel){(int32_t)((double)mean * one + 0.5),
                           (int32_t)((double)stddev * step + 0.5)};
}

/* Branch-free, since noise would take branches at random. */
static uint8_t noise_value(const noise_channel *channel, uint32_t bits)
{
    const int32_t sign = -(int32_t)(bits / SIZES & 1U);
    const int32_t normal = (normal_sizes[bits % SIZES] ^ sign) - sign;
    const int32_t most = 255 << NOISE_BITS;
    int32_t value = channel->mean + channel->stddev * normal + (1 << (NOISE_BITS - 1));
    value = value < 0 ? 0 : value;
    value = value > most ? most : value;
    return (uint8_t)(value >> NOISE_BITS);
}

void sl_fill_colour(uint8_t *pixels, size_t count, const uint8_t colour[3])
{
    if (colour[0] == colour[1] && colour[1] == colour[2]) {
        memset(pixels, colour[0], count * 3);
        return;
    }
    for (size_t i = 0; i < count * 3; i += 3) {
        memcpy(pixels + i, colour, 3);
    }
}

static void noise_pixel(uint8_t *pixel, const noise_channel channels[3], uint32_t word)
{
    pixel[0] = noise_value(&channels[0], word);
    pixel[1] = noise_value(&channels[1], word >> 10);
    pixel[2] = noise_value(&channels[2], word >> 20);
}

void sl_fill_noise(uint8_t *pixels, size_t count, const sl_noise *noise, uint64_t first)
{
    noise_channel channels[3];
    for (size_t c = 0; c < 3; c++) {
        channels[c] = noise_channel_of(noise->mean[c], noise->stddev[c]);
    }
    size_t i = 0;
    while (i < count) {
        const sl_philox_block block = sl_philox(noise->key, (first + i) / 4, 0);
        for (uint64_t k = (first + i) % 4; k < 4 && i < count; k++) {
            noise_pixel(pixels + i * 3, channels, block.v[k]);
            i++;
        }
    }
}
