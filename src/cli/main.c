/* remora: finds the subcommand and hands over to it. */
#include <stdio.h>

int main(void)
{
    puts("remora " REMORA_VERSION);
    return 0;
}
